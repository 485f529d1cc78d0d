// SPDX-License-Identifier: Apache-2.0
// Checks of loops: accesses that walk through memory in equal steps are checked as
// a whole, once, before the loop.
//
//   for (i = 0; i < n; ++i) sum += a[i];    __deadheat_range(a, 8, n, read of 8)
//
// Nested loops give ranges of two dimensions: __deadheat_range2. An access that is
// always at the same address gets an ordinary check before the loop. If the number of
// iterations is not known before the loop, it is known after it: exits.h.
//
// Why this keeps every race and invents none
//
//   The loop has no instruction that may synchronise, so all its accesses and the
//   call before it are in one stretch and have one epoch. When in the epoch an
//   access is checked makes no difference (stretches.h).
//
//   The range is what the loop touches, not more: the number of iterations is
//   known exactly when the loop is entered (ScalarEvolution's exact count of every
//   exit), nothing in the loop may throw, end the program or never come back, inner
//   loops are finite, and the access is executed in every iteration (its block
//   dominates the latch). A loop that dies of a bad address on its way has been
//   checked beyond it; so has the program. Finite is an inner loop with an exit
//   that is taken after a known number of iterations, and one that goes on through
//   memory (exits.h).
//
//   An access at one address needs less: that it is executed in the first iteration
//   for certain. How often the loop turns makes no difference.
//
//   The addresses are what the instructions compute: start and step come from the
//   recurrence of the pointer itself. It cannot wrap around the address space: it
//   would have to step through addresses that no program can access.
#pragma once

#include "llvm/IR/PassManager.h"

namespace deadheat::pass {

// Before the vectoriser.
struct HoistPass : llvm::PassInfoMixin<HoistPass> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace deadheat::pass
