// SPDX-License-Identifier: Apache-2.0
// Whether the code of a file may order threads by means that no log of calls shows: atomic
// operations and system calls of its own.
//
// On x86-64 a release store and an acquire load are ordinary instructions. A file counts as
// free of such code only if there is evidence for it:
//   - it has debug information, in which std::atomic and its kin would show as functions, inlined or
//     not, and C's _Atomic as a type;
//   - none of its instructions has a lock prefix, exchanges a register with memory, is a fence,
//     a pause (which waits in a loop) or a system call.
// Not recognised: loads and stores by the compilers' __atomic functions on ordinary variables, in a
// file that has none of the above; code that was linked in without debug information.
#pragma once

#include <string>

#include "base/result.h"

namespace deadheat {

struct UnloggedOrder {
  bool is_possible = true;
  std::string why;  // "std::atomic in its debug information", "an atomic instruction at 0x1234"
};

// Errors as ElfImage::open().
[[nodiscard]] Result<UnloggedOrder> find_unlogged_order(const std::string& path);

}  // namespace deadheat
