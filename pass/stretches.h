// SPDX-License-Identifier: Apache-2.0
// Stretches: parts of an execution in which the thread does not synchronise, so
// that all of it has one epoch.
//
// Whether an access races depends on its epoch, its bytes and its kind; when in
// the epoch it is checked makes no difference. So a check may move, and stand for
// another one, within a stretch and nowhere else.
//
// A signal handler of the program that synchronises may come between two
// instructions. No compiler can see that; a check that moved past it has the
// epoch of before or after. The same is true of the hooks, one instruction away
// from their access.
#pragma once

#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Instruction.h"

namespace deadheat::pass {

// The instruction may synchronise with other threads, or give memory back: a
// stretch ends here.
[[nodiscard]] bool ends_stretch(const llvm::Instruction& instruction, const llvm::TargetLibraryInfo& library);

// What follows the instruction in its block may not be executed: it may throw, end
// the thread or never come back.
[[nodiscard]] bool may_not_continue(const llvm::Instruction& instruction, const llvm::TargetLibraryInfo& library);

// A call of the runtime that only checks or notes something. Comes back, always.
[[nodiscard]] bool is_quiet_hook(const llvm::Instruction& instruction);

}  // namespace deadheat::pass
