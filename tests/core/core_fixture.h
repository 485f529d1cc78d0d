// SPDX-License-Identifier: Apache-2.0
// What several tests of core/ begin with.
#pragma once

#include <cstdint>

#include "core/sync_clock.h"
#include "model/identity.h"

namespace deadheat {

inline constexpr Address kTop = ~Address{0};

// The clock of a thread that knows nothing of others.
inline ThreadClock fresh(std::uint32_t number) { return {ThreadId{number}, ThreadSlot{number}, VectorClock{}}; }

}  // namespace deadheat
