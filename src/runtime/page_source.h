// SPDX-License-Identifier: Apache-2.0
// PageSource: memory of the runtime's own, from mmap, never from the program's
// heap. Blocks up to 32 KiB come in powers of two from lists of free blocks, one
// per size, larger ones are mappings of their own. Thread-safe without locks that
// a signal or a fork could leave behind: a list is a stack with a version in its
// head. When the system has no memory left the process goes on with what it has:
// allocate() then ends it with one line, as the last resort, only where no caller
// can do without; try_allocate() returns nullptr.
#pragma once

#include <cstddef>

namespace deadheat::runtime {

struct PageSource {
  static void* allocate(std::size_t bytes);
  static void* try_allocate(std::size_t bytes);
  static void release(void* memory, std::size_t bytes);

  // Address space without memory behind it until touched; zeros. nullptr if refused.
  static void* reserve(std::size_t bytes);

  // Bytes mapped so far, for the counters.
  static std::size_t mapped();
};

}  // namespace deadheat::runtime
