// SPDX-License-Identifier: Apache-2.0
// Keeps the optimiser from accesses that the source does not make.
//
// A load that the program does not make costs a native program nothing and is no
// race for the machine, so the optimiser makes some: it reads what only one of two
// branches reads. A detector that goes by what is executed would report them.
// LLVM leaves out most of that in functions with the attribute sanitize_thread
// (llvm::mustSuppressSpeculation). These remain, and are prevented here:
//
//   LICM              keeps a variable in a register during a loop and reads it before the
//                     loop, although the accesses of the loop depend on conditions. It is
//                     told not to, for the loops in which that would happen.
//   InstCombine,      take a load of one of two addresses apart into two loads and a
//   SROA              choice. Such a load is volatile while they run.
//   InstCombine       makes a whole load of a masked one if the memory is there. Masked
//                     loads are calls of an unknown function until the end.
//   ArgumentPromotion loads before the call what the callee reads on one of its ways. It
//                     does not run (clang has it at -O3).
//   GVN               reads again after a call what the next iteration of a loop may read,
//                     if there is one. Not in loops.
//
// All of this happens in callbacks around those passes, because only there is it known what
// they are about to do. In the callbacks the analyses of the pass manager are out of reach.
#pragma once

#include "llvm/IR/PassManager.h"
#include "llvm/Passes/PassBuilder.h"

namespace deadheat::pass {

// To be called once, before the pipeline is built.
void keep_to_accesses_of_source(llvm::PassBuilder& builder);

// From here on masked loads stand as calls of unknown functions ...
class HideMaskedLoadsPass : public llvm::PassInfoMixin<HideMaskedLoadsPass> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
  static bool isRequired() { return true; }
};

// ... and here they are masked loads again. Returns whether there were any.
bool show_masked_loads(llvm::Function& function);

}  // namespace deadheat::pass
