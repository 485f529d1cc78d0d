// SPDX-License-Identifier: Apache-2.0
// The runtime is told of code that notes its calls inline or not at all (frames.h),
// before any of it runs: a constructor of the module calls __deadheat_inline_frames().
// Whoever must see every call (`deadheat run --sampler cold`) then knows that it cannot.
#pragma once

#include "llvm/IR/PassManager.h"

namespace deadheat::pass {

class AnnouncePass : public llvm::PassInfoMixin<AnnouncePass> {
 public:
  static llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& analyses);
  // Also without optimisation.
  static bool isRequired() { return true; }
};

}  // namespace deadheat::pass
