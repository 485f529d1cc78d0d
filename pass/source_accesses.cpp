// SPDX-License-Identifier: Apache-2.0
#include "source_accesses.h"

#include "hidden_loads.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/PassInstrumentation.h"
#include "llvm/Support/CommandLine.h"
#include "loop_promotion.h"

namespace deadheat::pass {

namespace {

// An option of LLVM that has no other way in. Nothing if there is none of that name.
llvm::cl::opt<bool>* option_named(llvm::StringRef name) {
  const auto& options = llvm::cl::getRegisteredOptions();
  const auto found = options.find(name);
  return found == options.end() ? nullptr : static_cast<llvm::cl::opt<bool>*>(found->second);
}

void set_option(llvm::StringRef name, bool value) {
  if (llvm::cl::opt<bool>* option = option_named(name)) option->setValue(value);
}

template <class Unit>
Unit* unit_of(const llvm::Any& any) {
  const auto* unit = llvm::any_cast<const Unit*>(&any);
  return unit == nullptr ? nullptr : const_cast<Unit*>(*unit);
}

bool takes_choices_apart(llvm::StringRef pass) { return pass == "InstCombinePass" || pass == "SROAPass"; }

void before_pass(llvm::StringRef pass, const llvm::Any& any) {
  if (pass == "LICMPass") {
    const auto* loop = unit_of<llvm::Loop>(any);
    set_option("disable-licm-promotion", loop != nullptr && promotion_would_invent(*loop));
  } else if (takes_choices_apart(pass)) {
    if (auto* function = unit_of<llvm::Function>(any)) shield_loads_of_choices(*function);
  }
}

void after_pass(llvm::StringRef pass, const llvm::Any& any) {
  auto* function = unit_of<llvm::Function>(any);
  if (function == nullptr) return;
  if (takes_choices_apart(pass)) unshield_loads(*function);
  if (pass == "LoopVectorizePass") hide_masked_loads(*function);
}

}  // namespace

void keep_to_accesses_of_source(llvm::PassBuilder& builder) {
  llvm::PassInstrumentationCallbacks* callbacks = builder.getPassInstrumentationCallbacks();
  if (callbacks == nullptr) return;
  set_option("enable-load-in-loop-pre", false);
  callbacks->registerShouldRunOptionalPassCallback(
      [](llvm::StringRef pass, const llvm::Any&) { return pass != "ArgumentPromotionPass"; });
  callbacks->registerBeforeNonSkippedPassCallback(before_pass);
  callbacks->registerAfterPassCallback(
      [](llvm::StringRef pass, const llvm::Any& unit, const llvm::PreservedAnalyses&) { after_pass(pass, unit); });
}

llvm::PreservedAnalyses HideMaskedLoadsPass::run(llvm::Function& function,
                                                 llvm::FunctionAnalysisManager& /*analyses*/) {
  if (!hide_masked_loads(function)) return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses preserved;
  preserved.preserveSet<llvm::CFGAnalyses>();
  return preserved;
}

}  // namespace deadheat::pass
