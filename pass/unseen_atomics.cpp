// SPDX-License-Identifier: Apache-2.0
#include "unseen_atomics.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

namespace deadheat::pass {

namespace {

// Operations for which the machine has instructions, on memory that other threads may see.
// What is no operation on memory (a fence) is nothing here.
bool is_atomic_operation(const llvm::Instruction& instruction) {
  constexpr unsigned kWidest = 8;  // bytes
  llvm::SyncScope::ID scope = llvm::SyncScope::System;
  llvm::Type* type = nullptr;
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
    scope = load->getSyncScopeID();
    type = load->getType();
  } else if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
    scope = store->getSyncScopeID();
    type = store->getValueOperand()->getType();
  } else if (const auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
    scope = update->getSyncScopeID();
    type = update->getType();
  } else if (const auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
    scope = exchange->getSyncScopeID();
    type = exchange->getCompareOperand()->getType();
  }
  if (type == nullptr || !instruction.isAtomic() || scope != llvm::SyncScope::System) return false;
  if (instruction.hasMetadata(llvm::LLVMContext::MD_nosanitize)) return false;
  return instruction.getDataLayout().getTypeStoreSize(type) <= kWidest;
}

// The compiler must not move the operation out from between the marks. The processor may:
// see src/runtime/unchecked_code.h.
void emit_compiler_barrier(llvm::IRBuilder<>& builder) {
  auto* type = llvm::FunctionType::get(builder.getVoidTy(), /*isVarArg=*/false);
  builder.CreateCall(llvm::InlineAsm::get(type, "", "~{memory}", /*hasSideEffects=*/true))->setDoesNotThrow();
}

void expand(llvm::Instruction& operation, RuntimeSymbols& runtime) {
  llvm::IRBuilder<> builder(&operation);
  llvm::Value* before = runtime.begin_unseen(builder);
  emit_compiler_barrier(builder);
  llvm::Value* is_unseen = builder.CreateICmpNE(runtime.runs_unchecked(builder), builder.getInt64(0));
  llvm::MDNode* weights = llvm::MDBuilder(operation.getContext()).createBranchWeights(1 << 20, 1);
  llvm::Instruction* unseen_end = nullptr;
  llvm::Instruction* seen_end = nullptr;
  llvm::SplitBlockAndInsertIfThenElse(is_unseen, &operation, &unseen_end, &seen_end, weights);
  llvm::BasicBlock* after = operation.getParent();

  builder.SetInsertPoint(unseen_end);
  llvm::Instruction* unseen = builder.Insert(operation.clone());
  unseen->setMetadata(llvm::LLVMContext::MD_nosanitize, llvm::MDNode::get(operation.getContext(), {}));
  emit_compiler_barrier(builder);
  runtime.end_unseen(builder, before);

  builder.SetInsertPoint(seen_end);
  runtime.end_unseen(builder, before);
  operation.moveBefore(seen_end);
  if (operation.use_empty()) return;
  llvm::PHINode* merged = llvm::PHINode::Create(operation.getType(), 2, "", after->begin());
  operation.replaceAllUsesWith(merged);
  merged->addIncoming(unseen, unseen_end->getParent());
  merged->addIncoming(&operation, seen_end->getParent());
}

}  // namespace

bool inline_unseen_atomics(llvm::ArrayRef<llvm::BasicBlock*> blocks, RuntimeSymbols& runtime) {
  llvm::SmallVector<llvm::Instruction*, 8> operations;
  for (llvm::BasicBlock* block : blocks) {
    for (llvm::Instruction& instruction : *block) {
      if (is_atomic_operation(instruction)) operations.push_back(&instruction);
    }
  }
  for (llvm::Instruction* operation : operations) expand(*operation, runtime);
  return !operations.empty();
}

}  // namespace deadheat::pass
