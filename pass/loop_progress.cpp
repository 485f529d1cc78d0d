// SPDX-License-Identifier: Apache-2.0
#include "loop_progress.h"

#include <algorithm>
#include <utility>

#include "llvm/IR/IntrinsicInst.h"
#include "stretches.h"

namespace deadheat::pass {

namespace {

// A call of code that may have been built without the pass, as in the C library.
constexpr std::uint64_t kCall = 20;
// A piece of code has alternatives, and does not run all of it.
constexpr std::uint64_t kMostOfAPiece = 500;
constexpr std::uint64_t kShortLoop = 8;  // iterations

std::uint64_t instruction_weight(const llvm::Instruction& instruction) {
  if (llvm::isa<llvm::PHINode, llvm::DbgInfoIntrinsic, llvm::AllocaInst>(instruction) || is_quiet_hook(instruction)) {
    return 0;
  }
  const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  if (call == nullptr || instruction.isLifetimeStartOrEnd()) return 1;
  switch (call->getIntrinsicID()) {
    case llvm::Intrinsic::not_intrinsic:
    case llvm::Intrinsic::cos:
    case llvm::Intrinsic::exp:
    case llvm::Intrinsic::exp2:
    case llvm::Intrinsic::log:
    case llvm::Intrinsic::log2:
    case llvm::Intrinsic::log10:
    case llvm::Intrinsic::pow:
    case llvm::Intrinsic::sin:
      return kCall;
    default:
      return 1;
  }
}

// What is done every time, and half of what may be done.
class Weight {
 public:
  void add(const llvm::BasicBlock& block, bool is_always) {
    for (const llvm::Instruction& instruction : block) halves_ += instruction_weight(instruction) * (is_always ? 2 : 1);
  }
  [[nodiscard]] std::uint64_t sum() const { return std::clamp(halves_ / 2, std::uint64_t{1}, kMostOfAPiece); }

 private:
  std::uint64_t halves_ = 0;
};

std::uint64_t size_of(std::int64_t step) { return static_cast<std::uint64_t>(step < 0 ? -step : step); }

// By how much the variable advances in each iteration, 0 if that is not so simple.
std::int64_t step_of(const llvm::PHINode& variable, const llvm::Value* next, const llvm::DataLayout& layout) {
  if (const auto* sum = llvm::dyn_cast<llvm::BinaryOperator>(next)) {
    if (!variable.getType()->isIntegerTy(64) && !variable.getType()->isIntegerTy(32)) return 0;
    const auto* step = llvm::dyn_cast<llvm::ConstantInt>(sum->getOperand(1));
    if (sum->getOpcode() != llvm::Instruction::Add || sum->getOperand(0) != &variable || step == nullptr) return 0;
    return step->getSExtValue();
  }
  if (const auto* place = llvm::dyn_cast<llvm::GetElementPtrInst>(next)) {
    llvm::APInt step(layout.getIndexTypeSizeInBits(place->getType()), 0);
    if (place->getPointerOperand() != &variable || place->getType()->isVectorTy()) return 0;
    return place->accumulateConstantOffset(layout, step) ? step.getSExtValue() : 0;
  }
  return 0;
}

// Whether the loop goes from one constant to another in a few steps.
bool is_short(const llvm::Value& begin, const llvm::Value* next, const llvm::BasicBlock& latch, std::int64_t step) {
  const auto* first = llvm::dyn_cast<llvm::ConstantInt>(&begin);
  const auto* branch = llvm::dyn_cast<llvm::BranchInst>(latch.getTerminator());
  if (first == nullptr || branch == nullptr || !branch->isConditional()) return false;
  const auto* test = llvm::dyn_cast<llvm::ICmpInst>(branch->getCondition());
  const auto* last = test == nullptr ? nullptr : llvm::dyn_cast<llvm::ConstantInt>(test->getOperand(1));
  if (last == nullptr || test->getOperand(0) != next) return false;
  const std::int64_t distance = last->getSExtValue() - first->getSExtValue();
  return size_of(distance) <= size_of(step) * kShortLoop;
}

// Several elements at a time: who makes such a loop expects it to be long.
bool has_vectors(const llvm::Loop& loop) {
  for (const llvm::BasicBlock* block : loop.blocks()) {
    for (const llvm::Instruction& instruction : *block) {
      if (instruction.getType()->isVectorTy()) return true;
    }
  }
  return false;
}

// A loop in another one that ends at the same number in each of its iterations. Others are often short, and then
// counting them would cost more than it tells: what the outer loop counts is about the same per time.
bool is_as_long_each_time(const llvm::Loop& loop, const llvm::Value* variable, const llvm::Value* next) {
  const llvm::Loop* outer = loop.getParentLoop();
  if (outer == nullptr) return true;
  llvm::SmallVector<llvm::BasicBlock*, 4> exits;
  loop.getExitingBlocks(exits);
  if (exits.size() != 1) return false;
  const auto* branch = llvm::dyn_cast<llvm::BranchInst>(exits[0]->getTerminator());
  const auto* test = branch == nullptr ? nullptr : llvm::dyn_cast<llvm::ICmpInst>(branch->getCondition());
  if (test == nullptr) return false;
  const llvm::Value* left = test->getOperand(0);
  const llvm::Value* right = test->getOperand(1);
  if (right == variable || right == next) std::swap(left, right);
  return (left == variable || left == next) && outer->isLoopInvariant(right);
}

}  // namespace

std::uint64_t LoopCount::per_iteration() const { return (size_of(step) * factor) >> shift; }

llvm::Value* LoopCount::between(llvm::IRBuilder<>& builder, llvm::Value& begin, llvm::Value& end) const {
  const auto number = [&builder](llvm::Value& value) {
    return value.getType()->isPointerTy() ? builder.CreatePtrToInt(&value, builder.getInt64Ty()) : &value;
  };
  llvm::Value* distance =
      step > 0 ? builder.CreateSub(number(end), number(begin)) : builder.CreateSub(number(begin), number(end));
  distance = builder.CreateZExt(distance, builder.getInt64Ty());
  if (factor != 1) distance = builder.CreateMul(distance, builder.getInt64(factor));
  return shift == 0 ? distance : builder.CreateLShr(distance, builder.getInt64(shift));
}

std::optional<LoopCount> count_of(const llvm::Loop& loop, const llvm::DominatorTree& dominators) {
  llvm::BasicBlock* latch = loop.getLoopLatch();
  if (!loop.isInnermost() || latch == nullptr || !loop.getLoopPredecessor()) return std::nullopt;
  const llvm::DataLayout& layout = loop.getHeader()->getDataLayout();
  for (llvm::PHINode& variable : loop.getHeader()->phis()) {
    if (variable.getNumIncomingValues() != 2) return std::nullopt;
    llvm::Value* next = variable.getIncomingValueForBlock(latch);
    const std::int64_t step = step_of(variable, next, layout);
    if (step == 0) continue;
    const llvm::Value& begin = *variable.getIncomingValueForBlock(loop.getLoopPredecessor());
    if (is_short(begin, next, *latch, step)) continue;
    if (!has_vectors(loop) && !is_as_long_each_time(loop, &variable, next)) continue;
    LoopCount count{&variable, latch, next, step, 1, 0};
    const std::uint64_t weight = weight_of(loop, dominators);
    const std::uint64_t size = size_of(step);
    if (weight >= size) count.factor = (weight + size / 2) / size;
    while (weight < size >> count.shift) ++count.shift;
    return count;
  }
  return std::nullopt;
}

std::uint64_t weight_of(const llvm::Loop& loop, const llvm::DominatorTree& dominators) {
  Weight weight;
  const llvm::BasicBlock* latch = loop.getLoopLatch();
  for (const llvm::BasicBlock* block : loop.blocks()) {
    const bool is_inner = llvm::any_of(loop.getSubLoops(), [&](const llvm::Loop* in) { return in->contains(block); });
    if (!is_inner) weight.add(*block, latch != nullptr && dominators.dominates(block, latch));
  }
  return weight.sum();
}

std::uint64_t weight_of(const llvm::Function& function, const llvm::LoopInfo& loops,
                        const llvm::DominatorTree& dominators) {
  Weight weight;
  const llvm::BasicBlock* last = nullptr;
  for (const llvm::BasicBlock& block : function) {
    if (llvm::isa<llvm::ReturnInst>(block.getTerminator())) last = &block;
  }
  for (const llvm::BasicBlock& block : function) {
    if (loops.getLoopFor(&block) != nullptr) continue;
    weight.add(block, last != nullptr && dominators.dominates(&block, last));
  }
  return weight.sum();
}

}  // namespace deadheat::pass
