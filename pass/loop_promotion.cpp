// SPDX-License-Identifier: Apache-2.0
#include "loop_promotion.h"

#include <optional>

#include "llvm/Analysis/Loads.h"
#include "llvm/Analysis/MustExecute.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

namespace deadheat::pass {

namespace {

constexpr int kMaxDepth = 8;

// The same in all iterations, perhaps after LICM has moved its parts out of the loop.
bool is_invariant(const llvm::Value* value, const llvm::Loop& loop, int depth = 0) {
  const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (instruction == nullptr || !loop.contains(instruction)) return true;
  if (depth == kMaxDepth || llvm::isa<llvm::PHINode>(instruction) || llvm::isa<llvm::CallBase>(instruction))
    return false;
  if (instruction->mayReadOrWriteMemory()) return false;
  return llvm::all_of(instruction->operands(),
                      [&](const llvm::Use& operand) { return is_invariant(operand.get(), loop, depth + 1); });
}

class Promotion {
 public:
  explicit Promotion(const llvm::Loop& loop) : loop_(loop) {}

  bool would_invent() {
    for (const llvm::BasicBlock* block : loop_.blocks()) {
      for (const llvm::Instruction& instruction : *block) {
        const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
        if (store != nullptr && store->isUnordered() && is_read_before(*store)) return true;
      }
    }
    return false;
  }

 private:
  bool is_read_before(const llvm::StoreInst& store) {
    const llvm::Value* address = store.getPointerOperand();
    if (!is_invariant(address, loop_)) return false;
    if (llvm::isa<llvm::AllocaInst>(llvm::getUnderlyingObject(address))) return false;
    if (!llvm::isDereferenceablePointer(address, store.getValueOperand()->getType(), store.getDataLayout()))
      return false;
    return !is_certainly_accessed(address);
  }

  bool is_certainly_accessed(const llvm::Value* address) {
    if (!dominators_) {
      dominators_.emplace(*loop_.getHeader()->getParent());
      safety_.computeLoopSafetyInfo(&loop_);
    }
    for (const llvm::User* user : address->users()) {
      const auto* access = llvm::dyn_cast<llvm::Instruction>(user);
      if (access == nullptr || !loop_.contains(access) || llvm::getLoadStorePointerOperand(access) != address) continue;
      if (safety_.isGuaranteedToExecute(*access, &*dominators_, &loop_)) return true;
    }
    return false;
  }

  const llvm::Loop& loop_;
  std::optional<llvm::DominatorTree> dominators_;
  llvm::ICFLoopSafetyInfo safety_;
};

}  // namespace

bool promotion_would_invent(const llvm::Loop& loop) { return Promotion(loop).would_invent(); }

}  // namespace deadheat::pass
