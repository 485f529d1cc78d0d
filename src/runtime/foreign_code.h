// SPDX-License-Identifier: Apache-2.0
// Modules that were built without detection.
//
// An access that such a module makes is seen only where it calls a function of libc's, and what it
// orders by itself is not seen at all. So two kinds of accesses are its own affair, and none of the
// program's:
//
//   - to its own variables: a static buffer that it fills by memcpy() and guards in its own way;
//   - by a library of which it is known that it orders threads (library_calls.h): it keeps its own
//     structures, guarded by its own locks.
//
// Accesses of another library by memcpy() and the like to memory of the program, or of the heap, count.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/identity.h"

namespace deadheat::runtime {

// After modules came or went; inside the runtime.
void note_foreign_code();

// Where the code of such modules lies, from the first to the last. Written with the linker's lock held, read at
// any time: a thread that calls from a module knows that it was noted.
struct ForeignBounds {
  Address begin = ~Address{0};
  Address end = 0;
};
extern constinit ForeignBounds foreign_bounds;

[[nodiscard]] inline bool may_be_foreign(Address code) {
  return code >= __atomic_load_n(&foreign_bounds.begin, __ATOMIC_RELAXED) &&
         code < __atomic_load_n(&foreign_bounds.end, __ATOMIC_RELAXED);
}
[[nodiscard]] bool is_affair_of_foreign_code(Address code, Address begin);
[[nodiscard]] bool is_in_ordering_library(Address code);

// An access, reported by an interceptor that `code` has called, which is none of the program's.
[[nodiscard]] inline bool is_foreign_affair(Address code, const volatile void* begin) {
  return may_be_foreign(code) && is_affair_of_foreign_code(code, reinterpret_cast<Address>(begin));
}
// The call is one by a library that orders threads: it frees what all others are done with, and ends locks that
// nobody uses.
[[nodiscard]] inline bool is_of_ordering_library(Address code) {
  return may_be_foreign(code) && is_in_ordering_library(code);
}

}  // namespace deadheat::runtime
