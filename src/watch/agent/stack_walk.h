// SPDX-License-Identifier: Apache-2.0
// Return addresses by frame pointers, in a signal handler. A frame is believed while it lies
// on the thread's own stack above the one before and returns into code; where the program was
// compiled without frame pointers the list is short or empty, never wrong by guessing.
// What it can miss: the caller of a function that has not set up its frame.
#pragma once

#include <cstdint>

#include "model/identity.h"
#include "watch/agent/code_ranges.h"
#include "watch/agent/threads.h"

namespace deadheat::watch {

// Returns how many.
inline std::uint32_t walk_stack(const ThreadRecord& thread, Address stack_pointer, Address frame,
                                std::uint64_t* returns, std::uint32_t limit) {
  if (stack_pointer < thread.stack_begin || stack_pointer >= thread.stack_end) return 0;
  std::uint32_t count = 0;
  Address least = stack_pointer;
  while (count < limit && frame >= least && frame % 8 == 0 && frame + 16 <= thread.stack_end) {
    const auto* const saved = reinterpret_cast<const Address*>(frame);
    if (!code_ranges.has(saved[1])) break;
    returns[count++] = saved[1];
    least = frame + 16;
    frame = saved[0];
  }
  return count;
}

}  // namespace deadheat::watch
