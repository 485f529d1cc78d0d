// SPDX-License-Identifier: Apache-2.0
// Two versions of a function: one with checks, and one without for a process that
// samples, as long as nothing is recorded anywhere. (The idea is Arnold and Ryder's.)
//
// A word of the thread's storage says which one is to run (ThreadLocal::runs_unchecked).
// Both have the same blocks and values, so either can go on where the other is. Where
// they ask for the word:
//
//   entry            both versions begin there.
//   loops            around loops that have other loops or calls in them: one block that
//                    both versions come through in each iteration.
//   inner loops      of the version without checks only, at the end of an iteration. That
//                    with checks stays until the loop ends. A loop without any checks (they
//                    were made before it, hoisting.h) does not ask at all, but at its end.
//   after calls      of the version without checks: the thread may have slept in it.
//
// Both versions count the program's progress (loop_progress.h), so that the runtime can tell how much was
// done in either: where both come through, at entries and around loops, and for inner loops.
//
// So all cycles of the function have one entry, whichever version runs, and the code
// generator knows them for the loops they are.
//
// Values. A value that both versions compute, and that is used where either of them may
// have come from, is merged there. What reaches a use is what was computed last, in
// whichever version.
//
// Soundness. The version without checks may be left late, and must not be entered while
// there are records; src/runtime/sampling_control.cpp sees to that. Elimination has been done for
// the function as it was: a check that stands for a later access may have been left out
// because its version was the other one. Then the later access is one of a stretch that
// began before there was a record. (docs/sampling.md)
#pragma once

#include "elimination.h"
#include "inline_check.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/Function.h"

namespace deadheat::pass {

// Before the checks of the groups are put into the function: they are for the blocks
// that it has now. Their addresses are updated. Returns whether there are two versions
// afterwards.
bool make_unchecked_version(llvm::Function& function, llvm::MutableArrayRef<CheckGroup> groups, RuntimeSymbols& runtime,
                            const llvm::TargetLibraryInfo& library, const llvm::TargetTransformInfo& target);

}  // namespace deadheat::pass
