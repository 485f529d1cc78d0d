// SPDX-License-Identifier: Apache-2.0
#include "rare_accesses.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/LowerAtomic.h"

namespace deadheat::pass {

namespace {

// A vector operation under a mask: what it accesses, lane by lane.
struct MaskedAccess {
  llvm::IntrinsicInst* instruction = nullptr;
  llvm::Value* address = nullptr;  // of the vector, or a vector of addresses
  llvm::Value* mask = nullptr;
  llvm::FixedVectorType* type = nullptr;
  llvm::Align align;
  Kind kind = Kind::kRead;
  bool is_scattered = false;
};

bool is_masked_access(llvm::Instruction& instruction, MaskedAccess& access) {
  auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  if (call == nullptr) return false;
  const auto alignment = [&](unsigned operand) {
    return llvm::cast<llvm::ConstantInt>(call->getArgOperand(operand))->getMaybeAlignValue().valueOrOne();
  };
  llvm::Type* type = nullptr;
  switch (call->getIntrinsicID()) {
    case llvm::Intrinsic::masked_load:
    case llvm::Intrinsic::masked_gather:
      type = call->getType();
      access = {call, call->getArgOperand(0), call->getArgOperand(2), nullptr, alignment(1), Kind::kRead, false};
      break;
    case llvm::Intrinsic::masked_store:
    case llvm::Intrinsic::masked_scatter:
      type = call->getArgOperand(0)->getType();
      access = {call, call->getArgOperand(1), call->getArgOperand(3), nullptr, alignment(2), Kind::kWrite, false};
      break;
    default:
      return false;
  }
  access.type = llvm::dyn_cast<llvm::FixedVectorType>(type);
  access.is_scattered = access.address->getType()->isVectorTy();
  return access.type != nullptr;
}

void instrument_masked(const MaskedAccess& masked, RuntimeSymbols& runtime) {
  const llvm::DataLayout& layout = runtime.module().getDataLayout();
  llvm::Type* element = masked.type->getElementType();
  Access lane{masked.instruction, nullptr,     layout.getTypeStoreSize(element).getFixedValue(),
              masked.align,       masked.kind, Flavour::kPlain};
  lane.align = llvm::commonAlignment(masked.align, layout.getTypeStoreSize(element).getFixedValue());
  for (unsigned index = 0; index < masked.type->getNumElements(); ++index) {
    llvm::IRBuilder<> builder(masked.instruction);
    llvm::Value* condition = builder.CreateExtractElement(masked.mask, index);
    if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(condition); known != nullptr && known->isZero()) continue;
    lane.address = masked.is_scattered ? builder.CreateExtractElement(masked.address, index)
                                       : builder.CreateConstInBoundsGEP1_64(element, masked.address, index);
    builder.SetInsertPoint(llvm::SplitBlockAndInsertIfThen(condition, masked.instruction, /*Unreachable=*/false));
    builder.SetCurrentDebugLocation(masked.instruction->getDebugLoc());
    runtime.call_hook(builder, lane);
  }
}

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
  llvm::SmallVector<MaskedAccess, 4> masked;
  llvm::SmallVector<llvm::AtomicRMWInst*, 4> atomics;
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& instruction : block) {
      if (instruction.hasMetadata(llvm::LLVMContext::MD_nosanitize)) continue;
      MaskedAccess access;
      if (is_masked_access(instruction, access)) masked.push_back(access);
      auto* atomic = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction);
      if (atomic != nullptr && !has_hook(*atomic)) atomics.push_back(atomic);
    }
  }
  bool changed = !masked.empty();
  for (const MaskedAccess& access : masked) instrument_masked(access, runtime);
  for (llvm::AtomicRMWInst* atomic : atomics) changed |= expand_atomic(*atomic, runtime);
  return changed;
}

}  // namespace deadheat::pass
