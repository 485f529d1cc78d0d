// SPDX-License-Identifier: Apache-2.0
// Return addresses by frame pointers, in a signal handler. A frame is believed while it lies
// on the thread's own stack above the one before and returns into code; where the program was
// compiled without frame pointers the list is short or empty, never wrong by guessing.
// What it can miss: the caller of a function that has not set up its frame. The command line knows
// better where there are unwind tables: copy_stack() is for it.
#pragma once

#include <cstdint>

#include "model/identity.h"
#include "watch/agent/code_ranges.h"
#include "watch/agent/operand.h"
#include "watch/agent/system.h"
#include "watch/agent/threads.h"
#include "watch/watch_packet.h"

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

// By a system call: what the agent reads itself could fault, and trips the watches of its thread.
inline void copy_stack(StackCopy& copy, const ucontext_t& context, Address code) {
  constexpr int kPlaces[16] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP,
                               REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  for (int number = 0; number < 16; ++number) copy.registers[number] = register_of(context, kPlaces[number]);
  copy.registers[16] = code;
  copy.size = static_cast<std::uint32_t>(peek_bytes(register_of(context, REG_RSP), copy.bytes, sizeof copy.bytes));
}

}  // namespace deadheat::watch
