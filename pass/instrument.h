// SPDX-License-Identifier: Apache-2.0
// The pass over one function: finds the accesses, decides which need a check, and
// writes the checks.
#pragma once

#include "llvm/IR/PassManager.h"

namespace deadheat::pass {

struct InstrumentPass : llvm::PassInfoMixin<InstrumentPass> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
  // Also at -O0, where other passes are left out.
  static bool isRequired() { return true; }
};

}  // namespace deadheat::pass
