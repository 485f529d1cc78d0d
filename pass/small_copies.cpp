// SPDX-License-Identifier: Apache-2.0
#include "small_copies.h"

#include <cstdint>
#include <optional>

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"

namespace deadheat::pass {

namespace {

constexpr std::uint64_t kMostBytes = 64;
// The same for memory that may begin in the middle of a word: its checks are long.
constexpr std::uint64_t kMostUnaligned = 16;

// A move of 1, 2, 4, 8 or 16 bytes, so far from the beginning.
struct Move {
  std::uint64_t offset = 0;
  llvm::Type* type = nullptr;
};
using Moves = llvm::SmallVector<Move, 8>;

std::optional<std::uint64_t> small_size(const llvm::MemIntrinsic& copy) {
  const auto* size = llvm::dyn_cast<llvm::ConstantInt>(copy.getLength());
  if (size == nullptr || copy.isVolatile() || size->getZExtValue() > kMostBytes) return std::nullopt;
  if (copy.getDestAddressSpace() != 0) return std::nullopt;
  const auto* transfer = llvm::dyn_cast<llvm::MemTransferInst>(&copy);
  if (transfer != nullptr && transfer->getSourceAddressSpace() != 0) return std::nullopt;
  const auto* fill = llvm::dyn_cast<llvm::MemSetInst>(&copy);
  if (fill != nullptr && !llvm::isa<llvm::ConstantInt>(fill->getValue())) return std::nullopt;
  bool is_aligned = copy.getDestAlign().valueOrOne() >= 8;
  if (transfer != nullptr) is_aligned = is_aligned && transfer->getSourceAlign().valueOrOne() >= 8;
  if (!is_aligned && size->getZExtValue() > kMostUnaligned) return std::nullopt;
  return size->getZExtValue();
}

Moves moves_of(std::uint64_t size, llvm::IRBuilder<>& builder, bool has_vectors) {
  Moves moves;
  for (std::uint64_t at = 0; at < size;) {
    std::uint64_t step = has_vectors ? 16 : 8;
    while (step > size - at) step /= 2;
    llvm::Type* type = step == 16 ? static_cast<llvm::Type*>(llvm::FixedVectorType::get(builder.getInt64Ty(), 2))
                                  : builder.getIntNTy(static_cast<unsigned>(step * 8));
    moves.push_back({at, type});
    at += step;
  }
  return moves;
}

llvm::Value* filled(llvm::Type* type, const llvm::MemSetInst& fill) {
  const std::uint64_t byte = llvm::cast<llvm::ConstantInt>(fill.getValue())->getZExtValue();
  const llvm::APInt splat = llvm::APInt::getSplat(type->getScalarSizeInBits(), llvm::APInt(8, byte));
  return llvm::ConstantInt::get(type, splat);
}

void expand(llvm::MemIntrinsic& copy, std::uint64_t size) {
  llvm::IRBuilder<> builder(&copy);
  const bool has_vectors = !copy.getFunction()->hasFnAttribute(llvm::Attribute::NoImplicitFloat);
  const Moves moves = moves_of(size, builder, has_vectors);
  const auto place = [&](llvm::Value* begin, const Move& move) {
    return move.offset == 0 ? begin : builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), begin, move.offset);
  };
  // All is read before anything is written: source and destination may overlap.
  llvm::SmallVector<llvm::Value*, 8> values;
  for (const Move& move : moves) {
    if (const auto* fill = llvm::dyn_cast<llvm::MemSetInst>(&copy)) {
      values.push_back(filled(move.type, *fill));
    } else {
      const auto& transfer = llvm::cast<llvm::MemTransferInst>(copy);
      const llvm::Align align = llvm::commonAlignment(transfer.getSourceAlign().valueOrOne(), move.offset);
      values.push_back(builder.CreateAlignedLoad(move.type, place(transfer.getSource(), move), align));
    }
  }
  for (std::size_t at = 0; at < moves.size(); ++at) {
    const llvm::Align align = llvm::commonAlignment(copy.getDestAlign().valueOrOne(), moves[at].offset);
    builder.CreateAlignedStore(values[at], place(copy.getDest(), moves[at]), align);
  }
  copy.eraseFromParent();
}

}  // namespace

bool expand_small_copies(llvm::Function& function) {
  llvm::SmallVector<llvm::MemIntrinsic*, 8> copies;
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& instruction : block) {
      if (instruction.hasMetadata(llvm::LLVMContext::MD_nosanitize)) continue;
      auto* copy = llvm::dyn_cast<llvm::MemIntrinsic>(&instruction);
      if (copy != nullptr && small_size(*copy)) copies.push_back(copy);
    }
  }
  for (llvm::MemIntrinsic* copy : copies) expand(*copy, *small_size(*copy));
  return !copies.empty();
}

}  // namespace deadheat::pass
