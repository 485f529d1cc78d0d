// SPDX-License-Identifier: Apache-2.0
#include "announcement.h"

#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

namespace deadheat::pass {

namespace {

// Before constructors of the program, which have 101 or more.
constexpr int kPriority = 0;

bool has_code(const llvm::Module& module) {
  for (const llvm::Function& function : module) {
    if (!function.isDeclaration() && !function.hasAvailableExternallyLinkage()) return true;
  }
  return false;
}

}  // namespace

llvm::PreservedAnalyses AnnouncePass::run(llvm::Module& module, llvm::ModuleAnalysisManager& /*analyses*/) {
  if (!has_code(module)) return llvm::PreservedAnalyses::all();
  const auto [constructor, announcement] = llvm::createSanitizerCtorAndInitFunctions(
      module, "deadheat.module_ctor", "__deadheat_inline_frames", /*InitArgTypes=*/{}, /*InitArgs=*/{});
  llvm::appendToGlobalCtors(module, constructor, kPriority);
  return llvm::PreservedAnalyses::none();
}

}  // namespace deadheat::pass
