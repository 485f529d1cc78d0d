// SPDX-License-Identifier: Apache-2.0
// Backward: what the registers after an instruction say of those before it.
//
// Propagation: a register that the instruction does not write was the same. Reverse execution: an
// instruction whose effect can be undone gives the old value, or the value of the
// other register that took part (mov a, b: b was what a is now).
#pragma once

#include "replay/instruction.h"
#include "replay/machine_state.h"

namespace deadheat::replay {

// What merging two pieces of knowledge did.
struct Merged {
  unsigned learned = 0;      // bytes that were not known
  bool is_conflict = false;  // bytes that both knew, and differently
};

Merged merge(Value& into, const Value& from);
Merged merge(Registers& into, const Registers& from);

enum class Backward : std::uint8_t { kPropagationOnly, kReverseExecution };

// Adds to `before`. Flags are not taken back.
Merged undo(const Instruction& instruction, const Registers& after, Registers& before, Backward how);

}  // namespace deadheat::replay
