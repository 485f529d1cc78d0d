// SPDX-License-Identifier: Apache-2.0
#include "rare_accesses.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/LowerAtomic.h"
#include "masked_accesses.h"

namespace deadheat::pass {

namespace {

// The order as the hooks number it: that of C++.
std::uint32_t order_number(llvm::AtomicOrdering order) { return static_cast<std::uint32_t>(llvm::toCABI(order)); }

// What clang's own pass makes a call of.
bool has_hook(const llvm::AtomicRMWInst& atomic) {
  if (!atomic.getType()->isIntOrPtrTy()) return false;
  switch (atomic.getOperation()) {
    case llvm::AtomicRMWInst::Xchg:
    case llvm::AtomicRMWInst::Add:
    case llvm::AtomicRMWInst::Sub:
    case llvm::AtomicRMWInst::And:
    case llvm::AtomicRMWInst::Or:
    case llvm::AtomicRMWInst::Xor:
    case llvm::AtomicRMWInst::Nand:
      return true;
    default:
      return false;
  }
}

// atomicrmw max and others have no hook: a loop around a compare-and-swap, which
// has one, is the same operation.
bool expand_atomic(llvm::AtomicRMWInst& atomic, RuntimeSymbols& runtime) {
  llvm::Type* type = atomic.getType();
  const std::uint64_t bits = runtime.module().getDataLayout().getTypeStoreSizeInBits(type).getFixedValue();
  if (atomic.getSyncScopeID() == llvm::SyncScope::SingleThread) return false;
  if (bits < 8 || bits > 64 || !llvm::isPowerOf2_64(bits)) return false;
  llvm::IRBuilder<> builder(&atomic);
  llvm::Type* number = builder.getIntNTy(static_cast<unsigned>(bits));
  llvm::Type* order_type = builder.getInt32Ty();
  const std::string prefix = "__tsan_atomic" + std::to_string(bits);
  const auto load = runtime.module().getOrInsertFunction(prefix + "_load", number, builder.getPtrTy(), order_type);
  const auto exchange = runtime.module().getOrInsertFunction(
      prefix + "_compare_exchange_val", number, builder.getPtrTy(), number, number, order_type, order_type);
  llvm::CallInst* first = builder.CreateCall(
      load, {atomic.getPointerOperand(), builder.getInt32(order_number(llvm::AtomicOrdering::Monotonic))});
  first->setDoesNotThrow();
  llvm::BasicBlock* before = atomic.getParent();
  llvm::BasicBlock* after = before->splitBasicBlock(&atomic);
  llvm::BasicBlock* loop = llvm::BasicBlock::Create(builder.getContext(), "", before->getParent(), after);
  before->getTerminator()->setSuccessor(0, loop);
  builder.SetInsertPoint(loop);
  builder.SetCurrentDebugLocation(atomic.getDebugLoc());
  llvm::PHINode* seen = builder.CreatePHI(number, 2);
  llvm::Value* wanted = llvm::buildAtomicRMWValue(atomic.getOperation(), builder,
                                                  builder.CreateBitOrPointerCast(seen, type), atomic.getValOperand());
  const llvm::AtomicOrdering on_failure = llvm::AtomicCmpXchgInst::getStrongestFailureOrdering(atomic.getOrdering());
  llvm::CallInst* found = builder.CreateCall(
      exchange, {atomic.getPointerOperand(), seen, builder.CreateBitOrPointerCast(wanted, number),
                 builder.getInt32(order_number(atomic.getOrdering())), builder.getInt32(order_number(on_failure))});
  found->setDoesNotThrow();
  seen->addIncoming(first, before);
  seen->addIncoming(found, loop);
  builder.CreateCondBr(builder.CreateICmpEQ(found, seen), after, loop);
  atomic.replaceAllUsesWith(llvm::CastInst::CreateBitOrPointerCast(found, type, "", atomic.getIterator()));
  atomic.eraseFromParent();
  return true;
}

}  // namespace

bool instrument_rare_accesses(llvm::Function& function, RuntimeSymbols& runtime) {
  llvm::SmallVector<llvm::AtomicRMWInst*, 4> atomics;
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& instruction : block) {
      if (instruction.hasMetadata(llvm::LLVMContext::MD_nosanitize)) continue;
      auto* atomic = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction);
      if (atomic != nullptr && !has_hook(*atomic)) atomics.push_back(atomic);
    }
  }
  bool changed = instrument_masked_accesses(function, runtime);
  for (llvm::AtomicRMWInst* atomic : atomics) changed |= expand_atomic(*atomic, runtime);
  return changed;
}

}  // namespace deadheat::pass
