// SPDX-License-Identifier: Apache-2.0
// Lock classes: what a lock is called in every run of the program (code_names.h), for
// schedules. Locks that are made in the same way have the same name, as the locks of one
// Java class have in DrFinder.
//
//   global, static local   the module and the offset
//   heap                   the calls that allocated its block, and the offset there; in large
//                          blocks, which are arrays, just the calls
//   stack                  who created the thread, and the distance from the stack's end; on the
//                          main thread's, whose depth depends on the environment, the calls that
//                          first used it
#pragma once

#include <cstdint>

#include "model/identity.h"

namespace deadheat::runtime {

// Never 0. Takes a stripe of the sync table and the registry's lock. A lock that was used before
// has its name at hand.
[[nodiscard]] std::uint64_t name_of_lock(Address lock);

}  // namespace deadheat::runtime
