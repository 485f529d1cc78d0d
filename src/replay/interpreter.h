// SPDX-License-Identifier: Apache-2.0
// The interpreter: executes x86-64 integer code on a state that is known in part.
//
// Whatever the unknown bytes and flags of the state before are, the known ones of the state
// after are right. Instructions that it does not know make what they write unknown. Memory
// is emulated only where nobody else can have changed it meanwhile:
//   - a store to an unknown address forgets all of it, and so do system calls, locked
//     instructions and fences, because other threads' stores become visible there;
//   - a load from elsewhere than the stack whose value is not known may have been an acquire
//     (on x86-64 it is a plain mov): it forgets everything but the stack;
//   - what a locked instruction reads is unknown.
#pragma once

#include <cstdint>
#include <optional>

#include "replay/instruction.h"
#include "replay/machine_state.h"

namespace deadheat::replay {

// Where an access goes, in the state just before its instruction.
struct Located {
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  bool is_stack = false;        // relative to rsp, or to rbp near it
  bool is_pc_relative = false;  // no register takes part
  bool is_from_memory = false;  // a register of the address was loaded from emulated memory
};
[[nodiscard]] std::optional<Located> locate(const Instruction& instruction, const MemoryAccess& access,
                                            const Registers& before);

// The address of the next instruction, if it is known.
std::optional<std::uint64_t> execute(const Instruction& instruction, MachineState& state);

// The value of base + index * scale + displacement.
[[nodiscard]] Value address_value(const Operand& operand, const Registers& registers);

// Of jcc, setcc and cmovcc: 0 to 15 as the processor numbers conditions; -1: none of them.
[[nodiscard]] int condition_of(const Instruction& instruction);
[[nodiscard]] std::optional<bool> holds(int condition, const Flags& flags);

}  // namespace deadheat::replay
