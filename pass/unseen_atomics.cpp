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

llvm::Value* is_unseen(llvm::IRBuilder<>& builder, RuntimeSymbols& runtime) {
  return builder.CreateICmpNE(runtime.runs_unchecked(builder), builder.getInt64(0));
}

llvm::MDNode* mostly_unseen(llvm::LLVMContext& context) {
  return llvm::MDBuilder(context).createBranchWeights(1 << 20, 1);
}

// The same operation, that nobody is told of.
llvm::Instruction* copy_for_nobody(llvm::IRBuilder<>& builder, const llvm::Instruction& operation) {
  llvm::Instruction* copy = builder.Insert(operation.clone());
  copy->setMetadata(llvm::LLVMContext::MD_nosanitize, llvm::MDNode::get(operation.getContext(), {}));
  return copy;
}

// After the operation, its value is that of the one or of the other.
void merge_values(llvm::Instruction& operation, llvm::Instruction* unseen, llvm::BasicBlock* unseen_block) {
  if (operation.use_empty()) return;
  llvm::BasicBlock* after = operation.getParent()->getSingleSuccessor();
  llvm::PHINode* merged = llvm::PHINode::Create(operation.getType(), 2, "", after->begin());
  operation.replaceAllUsesWith(merged);
  merged->addIncoming(unseen, unseen_block);
  merged->addIncoming(&operation, operation.getParent());
}

// What it reads shows whether anything was recorded before: it is asked afterwards, and if so
// it is read once more.
void expand_load(llvm::LoadInst& load, RuntimeSymbols& runtime) {
  llvm::IRBuilder<> builder(&load);
  auto* unseen = llvm::cast<llvm::LoadInst>(copy_for_nobody(builder, load));
  if (!llvm::isAcquireOrStronger(unseen->getOrdering())) unseen->setOrdering(llvm::AtomicOrdering::Acquire);
  llvm::Value* is_seen = builder.CreateNot(is_unseen(builder, runtime));
  llvm::BasicBlock* before = load.getParent();
  llvm::MDNode* weights = llvm::MDBuilder(load.getContext()).createBranchWeights(1, 1 << 20);
  llvm::Instruction* seen_end = llvm::SplitBlockAndInsertIfThen(is_seen, &load, /*Unreachable=*/false, weights);
  load.moveBefore(seen_end);
  merge_values(load, unseen, before);
}

// Nobody learns from it of anything that was recorded.
void expand_store(llvm::StoreInst& store, RuntimeSymbols& runtime) {
  llvm::IRBuilder<> builder(&store);
  llvm::Instruction* unseen_end = nullptr;
  llvm::Instruction* seen_end = nullptr;
  llvm::SplitBlockAndInsertIfThenElse(is_unseen(builder, runtime), &store, &unseen_end, &seen_end,
                                      mostly_unseen(store.getContext()));
  builder.SetInsertPoint(unseen_end);
  copy_for_nobody(builder, store);
  store.moveBefore(seen_end);
}

// It reads and writes, and cannot be done twice.
void expand_update(llvm::Instruction& operation, RuntimeSymbols& runtime) {
  llvm::IRBuilder<> builder(&operation);
  llvm::Value* before = runtime.begin_unseen(builder);
  emit_compiler_barrier(builder);
  llvm::Instruction* unseen_end = nullptr;
  llvm::Instruction* seen_end = nullptr;
  llvm::SplitBlockAndInsertIfThenElse(is_unseen(builder, runtime), &operation, &unseen_end, &seen_end,
                                      mostly_unseen(operation.getContext()));

  builder.SetInsertPoint(unseen_end);
  llvm::Instruction* unseen = copy_for_nobody(builder, operation);
  emit_compiler_barrier(builder);
  runtime.end_unseen(builder, before);

  builder.SetInsertPoint(seen_end);
  runtime.end_unseen(builder, before);
  operation.moveBefore(seen_end);
  merge_values(operation, unseen, unseen_end->getParent());
}

void expand(llvm::Instruction& operation, RuntimeSymbols& runtime) {
  if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&operation)) return expand_load(*load, runtime);
  if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&operation)) return expand_store(*store, runtime);
  expand_update(operation, runtime);
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
