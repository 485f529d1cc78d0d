// SPDX-License-Identifier: Apache-2.0
#include "frames.h"

#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/EscapeEnumerator.h"

namespace deadheat::pass {

namespace {

// struct Frame of the runtime, and what longer_path() multiplies with.
constexpr std::uint64_t kFrameSize = 24;
constexpr std::uint64_t kPathOffset = 8;
constexpr std::uint64_t kContextOffset = 16;
constexpr std::uint64_t kPathFactor = 0xd6e8feb86659fd93ULL;

using ColdCalls = llvm::SmallVector<llvm::CallInst*, 16>;

bool is_cold_hook(const llvm::CallInst& call) { return call.getCallingConv() == llvm::CallingConv::PreserveMost; }

// Becomes a call when clang's own pass sees it.
bool becomes_call(const llvm::Instruction& instruction) {
  if (llvm::isa<llvm::MemIntrinsic>(instruction)) return true;
  return instruction.isAtomic() && !instruction.hasMetadata(llvm::LLVMContext::MD_nosanitize);
}

// False when the function calls anything but the hooks of failed checks.
bool find_cold_calls(llvm::Function& function, ColdCalls& calls) {
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& instruction : block) {
      if (becomes_call(instruction)) return false;
      auto* any = llvm::dyn_cast<llvm::CallBase>(&instruction);
      if (any == nullptr || llvm::isa<llvm::IntrinsicInst>(any)) continue;
      auto* call = llvm::dyn_cast<llvm::CallInst>(any);
      if (call == nullptr || !is_cold_hook(*call)) return false;
      calls.push_back(call);
    }
  }
  return true;
}

llvm::Value* return_address(llvm::IRBuilder<>& builder) {
  return builder.CreateIntrinsic(llvm::Intrinsic::returnaddress, {}, {builder.getInt32(0)});
}

void give_frames_to(llvm::ArrayRef<llvm::CallInst*> calls, RuntimeSymbols& runtime) {
  for (llvm::CallInst* call : calls) {
    llvm::IRBuilder<> builder(call);
    runtime.call_leaf_hook(builder, *call, return_address(builder));
    call->eraseFromParent();
  }
}

// What follows the allocation of the function's variables, which must stay in the
// first block.
llvm::Instruction* body_of(llvm::Function& function) {
  llvm::BasicBlock& entry = function.getEntryBlock();
  llvm::Instruction* body = &*entry.getFirstNonPHIOrDbgOrAlloca();
  llvm::SmallVector<llvm::AllocaInst*, 8> late;
  for (llvm::Instruction* at = body; at != nullptr; at = at->getNextNode()) {
    auto* variable = llvm::dyn_cast<llvm::AllocaInst>(at);
    if (variable != nullptr && variable->isStaticAlloca()) late.push_back(variable);
  }
  for (llvm::AllocaInst* variable : late) variable->moveBefore(body);
  return body;
}

llvm::Value* at(llvm::IRBuilder<>& builder, llvm::Value* frame, std::int64_t offset) {
  return builder.CreatePtrAdd(frame, builder.getInt64(static_cast<std::uint64_t>(offset)));
}

void push_frame(llvm::Function& function, RuntimeSymbols& runtime) {
  llvm::Instruction* body = body_of(function);
  llvm::IRBuilder<> builder(body);
  llvm::Value* top = runtime.top_frame(builder);
  llvm::Value* caller = return_address(builder);
  llvm::MDBuilder metadata(builder.getContext());
  llvm::Instruction* when_full = nullptr;
  llvm::Instruction* otherwise = nullptr;
  llvm::SplitBlockAndInsertIfThenElse(builder.CreateICmpEQ(top, runtime.frame_limit(builder)), body, &when_full,
                                      &otherwise, metadata.createBranchWeights(1, 1 << 20));
  builder.SetInsertPoint(when_full);
  runtime.call_function_entry(builder, caller)->addFnAttr(llvm::Attribute::Cold);

  builder.SetInsertPoint(otherwise);
  const auto size = static_cast<std::int64_t>(kFrameSize);
  llvm::Value* path =
      runtime.load(builder, builder.getInt64Ty(), at(builder, top, static_cast<std::int64_t>(kPathOffset) - size));
  llvm::Value* mixed = builder.CreateXor(path, builder.CreatePtrToInt(caller, builder.getInt64Ty()));
  runtime.store(builder, caller, top);
  runtime.store(builder, builder.CreateMul(mixed, builder.getInt64(kPathFactor)), at(builder, top, kPathOffset));
  runtime.store(builder, builder.getInt32(0), at(builder, top, kContextOffset));
  runtime.set_top_frame(builder, at(builder, top, size));
}

void pop_frames(llvm::Function& function, RuntimeSymbols& runtime) {
  llvm::EscapeEnumerator exits(function, "deadheat_cleanup", /*HandleExceptions=*/true);
  while (llvm::IRBuilder<>* builder = exits.Next()) {
    // The lowest frame stays, whatever the program has done to its stack.
    llvm::Value* top = runtime.top_frame(*builder);
    llvm::Value* is_lowest = builder->CreateICmpEQ(top, runtime.lowest_frame(*builder));
    llvm::Value* below = at(*builder, top, -static_cast<std::int64_t>(kFrameSize));
    runtime.set_top_frame(*builder, builder->CreateSelect(is_lowest, top, below));
  }
}

}  // namespace

bool instrument_frames(llvm::Function& function, RuntimeSymbols& runtime) {
  ColdCalls calls;
  if (find_cold_calls(function, calls)) {
    give_frames_to(calls, runtime);
    return !calls.empty();
  }
  push_frame(function, runtime);
  pop_frames(function, runtime);
  return true;
}

}  // namespace deadheat::pass
