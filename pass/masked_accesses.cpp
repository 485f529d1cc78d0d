// SPDX-License-Identifier: Apache-2.0
#include "masked_accesses.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

namespace deadheat::pass {

namespace {

// The access of such an operation, lane by lane.
struct MaskedAccess {
  llvm::IntrinsicInst* instruction = nullptr;
  llvm::Value* address = nullptr;  // of the first lane, or a vector of addresses
  llvm::Value* mask = nullptr;     // of i1; none: all lanes
  llvm::Type* element = nullptr;
  unsigned count = 0;
  llvm::Align align;
  Kind kind = Kind::kRead;
  bool is_packed = false;  // the lanes that the mask lets through follow each other

  void set_type(llvm::Type* type) {
    auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
    if (vector == nullptr) return;
    element = vector->getElementType();
    count = vector->getNumElements();
  }
};

unsigned lanes_of(const llvm::Value* vector) {
  return llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements();
}

// A mask as the machine has it: the highest bit of each lane, or a bit each in a number.
llvm::Value* bits_of(llvm::IRBuilder<>& builder, llvm::Value* mask) {
  llvm::Type* type = mask->getType();
  if (type->isIntegerTy()) {
    auto* bits = llvm::FixedVectorType::get(builder.getInt1Ty(), type->getIntegerBitWidth());
    return builder.CreateBitCast(mask, bits);
  }
  if (type->getScalarType()->isIntegerTy(1)) return mask;
  const unsigned lanes = lanes_of(mask);
  auto* numbers = llvm::FixedVectorType::get(builder.getIntNTy(type->getScalarSizeInBits()), lanes);
  llvm::Value* number = builder.CreateBitCast(mask, numbers);
  return builder.CreateICmpSLT(number, llvm::Constant::getNullValue(numbers));
}

// base + index * scale, for each lane.
llvm::Value* addresses_of(llvm::IRBuilder<>& builder, llvm::Value* base, llvm::Value* indexes, llvm::Value* scale) {
  auto* wide = llvm::FixedVectorType::get(builder.getInt64Ty(), lanes_of(indexes));
  llvm::Value* distance = builder.CreateSExt(indexes, wide);
  llvm::Value* factor =
      builder.CreateVectorSplat(wide->getElementCount(), builder.CreateZExt(scale, builder.getInt64Ty()));
  return builder.CreateGEP(builder.getInt8Ty(), base, builder.CreateMul(distance, factor));
}

llvm::Align alignment(const llvm::CallBase& call, unsigned operand) {
  return llvm::cast<llvm::ConstantInt>(call.getArgOperand(operand))->getMaybeAlignValue().valueOrOne();
}

bool is_general_one(llvm::IntrinsicInst& call, MaskedAccess& access) {
  const auto argument = [&](unsigned index) { return call.getArgOperand(index); };
  switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::masked_load:
    case llvm::Intrinsic::masked_gather:
      access.address = argument(0);
      access.mask = argument(2);
      access.align = alignment(call, 1);
      access.set_type(call.getType());
      return true;
    case llvm::Intrinsic::masked_store:
    case llvm::Intrinsic::masked_scatter:
      access.address = argument(1);
      access.mask = argument(3);
      access.align = alignment(call, 2);
      access.kind = Kind::kWrite;
      access.set_type(argument(0)->getType());
      return true;
    case llvm::Intrinsic::masked_expandload:
      access.address = argument(0);
      access.mask = argument(1);
      access.is_packed = true;
      access.set_type(call.getType());
      return true;
    case llvm::Intrinsic::masked_compressstore:
      access.address = argument(1);
      access.mask = argument(2);
      access.is_packed = true;
      access.kind = Kind::kWrite;
      access.set_type(argument(0)->getType());
      return true;
    default:
      return false;
  }
}

// pmov.qb.mem.512(address, values, mask): the second letter is the size that is stored.
llvm::Type* narrowed_type(llvm::IRBuilder<>& builder, llvm::StringRef name) {
  const llvm::StringRef letters = name.substr(name.find('.') + 1).take_until([](char c) { return c == '.'; });
  switch (letters.empty() ? '\0' : letters.back()) {
    case 'b':
      return builder.getInt8Ty();
    case 'w':
      return builder.getInt16Ty();
    case 'd':
      return builder.getInt32Ty();
    default:
      return nullptr;
  }
}

// The machine's own. Addresses and masks are computed before the instruction.
bool is_machine_one(llvm::IntrinsicInst& call, MaskedAccess& access) {
  llvm::StringRef name = call.getCalledFunction()->getName();
  if (!name.consume_front("llvm.x86.")) return false;
  llvm::IRBuilder<> builder(&call);
  const auto argument = [&](unsigned index) { return call.getArgOperand(index); };
  if (name.contains(".maskload.") || name.contains(".maskstore.")) {
    const bool writes = name.contains(".maskstore.");
    access.kind = writes ? Kind::kWrite : Kind::kRead;
    access.address = argument(0);
    access.set_type(argument(writes ? 2 : 1)->getType());
    access.mask = bits_of(builder, argument(1));
  } else if (name.starts_with("avx2.gather.") || name.starts_with("avx512.mask.gather")) {
    access.set_type(call.getType());
    access.address = addresses_of(builder, argument(1), argument(2), argument(4));
    access.mask = bits_of(builder, argument(3));
    access.count = std::min(access.count, lanes_of(argument(2)));
  } else if (name.starts_with("avx512.mask.scatter")) {
    access.kind = Kind::kWrite;
    access.set_type(argument(3)->getType());
    access.address = addresses_of(builder, argument(0), argument(2), argument(4));
    access.mask = bits_of(builder, argument(1));
    access.count = std::min(access.count, lanes_of(argument(2)));
  } else if (name.starts_with("avx512.mask.pmov") && name.contains(".mem.")) {
    access.kind = Kind::kWrite;
    access.set_type(argument(1)->getType());
    access.element = narrowed_type(builder, name.substr(name.find("pmov")));
    access.address = argument(0);
    access.mask = bits_of(builder, argument(2));
  } else if (name == "sse2.maskmov.dqu") {
    access.kind = Kind::kWrite;
    access.set_type(argument(0)->getType());
    access.address = argument(2);
    access.mask = bits_of(builder, argument(1));
  } else if (name == "avx.ldu.dq.256" || name == "sse3.ldu.dq") {
    access.set_type(call.getType());
    access.address = argument(0);
  } else {
    return false;
  }
  return access.element != nullptr;
}

void instrument(const MaskedAccess& masked, RuntimeSymbols& runtime) {
  const llvm::DataLayout& layout = runtime.module().getDataLayout();
  const std::uint64_t size = layout.getTypeStoreSize(masked.element).getFixedValue();
  Access lane{masked.instruction, nullptr,        size, llvm::commonAlignment(masked.align, size),
              masked.kind,        Flavour::kPlain};
  llvm::IRBuilder<> builder(masked.instruction);
  if (masked.mask == nullptr) {
    lane.address = masked.address;
    lane.size = size * masked.count;
    lane.align = llvm::Align();
    runtime.call_hook(builder, lane);
    return;
  }
  llvm::Value* passed = builder.getInt64(0);
  for (unsigned index = 0; index < masked.count; ++index) {
    builder.SetInsertPoint(masked.instruction);
    llvm::Value* condition = builder.CreateExtractElement(masked.mask, index);
    if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(condition); known != nullptr && known->isZero()) continue;
    if (masked.address->getType()->isVectorTy()) {
      lane.address = builder.CreateExtractElement(masked.address, index);
    } else {
      llvm::Value* distance = masked.is_packed ? passed : builder.getInt64(index);
      lane.address = builder.CreateInBoundsGEP(masked.element, masked.address, distance);
      if (masked.is_packed) passed = builder.CreateAdd(passed, builder.CreateZExt(condition, builder.getInt64Ty()));
    }
    builder.SetInsertPoint(llvm::SplitBlockAndInsertIfThen(condition, masked.instruction, /*Unreachable=*/false));
    builder.SetCurrentDebugLocation(masked.instruction->getDebugLoc());
    runtime.call_hook(builder, lane);
  }
}

}  // namespace

bool instrument_masked_accesses(llvm::Function& function, RuntimeSymbols& runtime) {
  llvm::SmallVector<llvm::IntrinsicInst*, 8> calls;
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& instruction : block) {
      auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
      if (call != nullptr && !call->hasMetadata(llvm::LLVMContext::MD_nosanitize)) calls.push_back(call);
    }
  }
  bool changed = false;
  for (llvm::IntrinsicInst* call : calls) {
    MaskedAccess access;
    access.instruction = call;
    if (!is_general_one(*call, access) && !is_machine_one(*call, access)) continue;
    if (access.element == nullptr) continue;
    instrument(access, runtime);
    changed = true;
  }
  return changed;
}

}  // namespace deadheat::pass
