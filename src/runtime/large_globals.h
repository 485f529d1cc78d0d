// SPDX-License-Identifier: Apache-2.0
// The large variables of the loaded modules, by their symbols: arrays that are worth
// a compressed shadow. A module without symbols has none.
#pragma once

#include <cstddef>

#include "model/identity.h"

namespace deadheat::runtime {

// Calls visit for each variable of at least so many bytes.
void for_each_large_global(std::size_t least, void (*visit)(Address begin, std::size_t size));

}  // namespace deadheat::runtime
