// SPDX-License-Identifier: Apache-2.0
#include "loop_facts.h"

#include "checked_mark.h"
#include "llvm/Analysis/CFG.h"
#include "llvm/Analysis/LoopIterator.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"
#include "stretches.h"

namespace deadheat::pass {

namespace {

// A cycle that is no loop to LLVM: nobody knows whether it ends.
bool has_odd_cycle(llvm::Loop& loop, llvm::LoopInfo& loops) {
  llvm::LoopBlocksRPO order(&loop);
  order.perform(&loops);
  return llvm::containsIrreducibleCFG<const llvm::BasicBlock*>(order, loops);
}

}  // namespace

void SameAddresses::add(const Access& other) {
  if (other.is_write() && !access.is_write()) {
    also.push_back(access);
    access = other;
  } else {
    also.push_back(other);
  }
}

void SameAddresses::mark_as_checked() const {
  pass::mark_as_checked(*access.instruction);
  for (const Access& other : also) pass::mark_as_checked(*other.instruction);
}

LoopFacts::LoopFacts(llvm::Function& function, llvm::FunctionAnalysisManager& analyses)
    : function_(function),
      loops_(analyses.getResult<llvm::LoopAnalysis>(function)),
      evolution_(analyses.getResult<llvm::ScalarEvolutionAnalysis>(function)),
      dominators_(analyses.getResult<llvm::DominatorTreeAnalysis>(function)),
      library_(analyses.getResult<llvm::TargetLibraryAnalysis>(function)),
      number_(llvm::Type::getInt64Ty(function.getContext())) {}

const char* LoopFacts::remembered(Reasons& reasons, llvm::Loop& loop, llvm::function_ref<const char*()> find) {
  if (const auto known = reasons.find(&loop); known != reasons.end()) return known->second;
  const char* reason = find();
  reasons[&loop] = reason;
  return reason;
}

const char* LoopFacts::disturbance_of(llvm::Loop& loop) {
  return remembered(disturbances_, loop, [&] { return find_disturbance(loop); });
}

const char* LoopFacts::find_disturbance(llvm::Loop& loop) {
  if (loop.getLoopPreheader() == nullptr || loop.getLoopLatch() == nullptr || has_odd_cycle(loop, loops_)) {
    return "the loop has no simple form";
  }
  for (llvm::Loop* inner : loop.getSubLoops()) {
    if (const char* reason = disturbance_of(*inner)) return reason;
    if (!is_finite(*inner)) return "a loop inside may be endless";
  }
  for (llvm::BasicBlock* block : loop.blocks()) {
    for (const llvm::Instruction& instruction : *block) {
      if (ends_stretch(instruction, library_)) return "the loop has a call that may synchronise";
      if (may_not_continue(instruction, library_)) return "the loop has an instruction that may not come back";
    }
  }
  return nullptr;
}

const char* LoopFacts::obstacle_of(llvm::Loop& loop) {
  return remembered(obstacles_, loop, [&] { return find_obstacle(loop); });
}

const char* LoopFacts::find_obstacle(llvm::Loop& loop) {
  if (const char* reason = disturbance_of(loop)) return reason;
  llvm::SmallVector<llvm::BasicBlock*, 4> exits;
  loop.getExitingBlocks(exits);
  if (exits.empty()) return "the loop has no exit";
  const auto is_counted = [&](const llvm::BasicBlock* exit) { return has_known_count(loop, exit); };
  return llvm::all_of(exits, is_counted) ? nullptr : "the number of iterations is not known before the loop";
}

// An exit from an inner loop may be passed many times in an iteration.
bool LoopFacts::has_known_count(llvm::Loop& loop, const llvm::BasicBlock* exit) {
  if (loops_.getLoopFor(exit) != &loop) return false;
  const llvm::SCEV* count = evolution_.getExitCount(&loop, exit);
  return !llvm::isa<llvm::SCEVCouldNotCompute>(count) && evolution_.getTypeSizeInBits(count->getType()) <= 64;
}

// An exit is reached in every iteration and taken after a number of them. Or an access
// of every iteration goes on in memory.
bool LoopFacts::is_finite(llvm::Loop& loop) {
  llvm::SmallVector<llvm::BasicBlock*, 4> exits;
  loop.getExitingBlocks(exits);
  const auto is_counted = [&](const llvm::BasicBlock* exit) { return has_known_count(loop, exit); };
  return llvm::any_of(exits, is_counted) || steps_through_memory(loop);
}

bool LoopFacts::steps_through_memory(llvm::Loop& loop) {
  for (llvm::BasicBlock* block : loop.blocks()) {
    if (!runs_in_every_iteration(loop, block)) continue;
    for (llvm::Instruction& instruction : *block) {
      llvm::Value* address = llvm::getLoadStorePointerOperand(&instruction);
      if (address == nullptr) continue;
      const auto* recurrence = recurrence_of(evolution_.getSCEV(address), loop);
      if (recurrence != nullptr && evolution_.isKnownNonZero(recurrence->getStepRecurrence(evolution_))) return true;
    }
  }
  return false;
}

llvm::SmallVector<llvm::BasicBlock*, 4> LoopFacts::exits_in_order(const llvm::Loop& loop) const {
  llvm::SmallVector<llvm::BasicBlock*, 4> exits;
  loop.getExitingBlocks(exits);
  llvm::sort(exits, [&](const llvm::BasicBlock* one, const llvm::BasicBlock* other) {
    return dominators_.properlyDominates(one, other);
  });
  return exits;
}

bool LoopFacts::runs_at_least_once(const llvm::Loop& loop, const llvm::BasicBlock* block) const {
  llvm::SmallVector<llvm::BasicBlock*, 4> exits;
  loop.getExitingBlocks(exits);
  exits.push_back(loop.getLoopLatch());
  return llvm::all_of(exits, [&](const llvm::BasicBlock* exit) { return dominators_.dominates(block, exit); });
}

bool LoopFacts::runs_in_every_iteration(const llvm::Loop& loop, const llvm::BasicBlock* block) const {
  return dominators_.dominates(block, loop.getLoopLatch());
}

// In the last iteration the block is executed if it comes before the exit that is
// taken. The exit with the least count ends the loop. A later exit's count means
// nothing if an earlier one is taken at once: that is what "sequential" says.
const llvm::SCEV* LoopFacts::executions(llvm::Loop& loop, const llvm::BasicBlock* block) {
  llvm::SmallVector<const llvm::SCEV*, 4> counts;
  llvm::SmallVector<const llvm::SCEV*, 4> after_block;
  for (const llvm::BasicBlock* exit : exits_in_order(loop)) {
    const llvm::SCEV* taken = evolution_.getNoopOrZeroExtend(evolution_.getExitCount(&loop, exit), number_);
    (dominators_.dominates(block, exit) ? after_block : counts).push_back(taken);
  }
  if (!after_block.empty()) {
    const llvm::SCEV* taken = evolution_.getUMinExpr(after_block, /*Sequential=*/true);
    counts.push_back(evolution_.getAddExpr(taken, evolution_.getOne(number_)));
  }
  return evolution_.getUMinExpr(counts, /*Sequential=*/true);
}

const llvm::SCEVAddRecExpr* LoopFacts::recurrence_of(const llvm::SCEV* address, const llvm::Loop& loop) {
  const auto* recurrence = llvm::dyn_cast<llvm::SCEVAddRecExpr>(address);
  if (recurrence == nullptr || recurrence->getLoop() != &loop || !recurrence->isAffine()) return nullptr;
  return recurrence->getStepRecurrence(evolution_)->getType() == number_ ? recurrence : nullptr;
}

bool LoopFacts::is_known_before(const llvm::SCEV* part, const llvm::Loop& loop) {
  llvm::SCEVExpander expander(evolution_, function_.getParent()->getDataLayout(), "deadheat");
  return evolution_.isLoopInvariant(part, &loop) &&
         expander.isSafeToExpandAt(part, loop.getLoopPreheader()->getTerminator());
}

}  // namespace deadheat::pass
