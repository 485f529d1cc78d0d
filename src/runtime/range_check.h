// SPDX-License-Identifier: Apache-2.0
// The check of a whole loop, for the hooks of the compiler pass.
#pragma once

#include <cstdint>

#include "model/identity.h"

namespace deadheat::runtime {

// `count` accesses from `start` on, `step` bytes apart; the shape is as the pass encodes
// it (pass/range_shape.h).
void check_range(Address start, std::int64_t step, std::uint64_t count, std::uint64_t shape, Address code);

}  // namespace deadheat::runtime
