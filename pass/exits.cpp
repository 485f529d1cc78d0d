// SPDX-License-Identifier: Apache-2.0
#include "exits.h"

#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"
#include "range_shape.h"

namespace deadheat::pass {

namespace {

// Each of them gets a call for each access.
constexpr std::size_t kMaxExitBlocks = 4;

llvm::SmallVector<llvm::BasicBlock*, 4> exit_blocks(const llvm::Loop& loop) {
  llvm::SmallVector<llvm::BasicBlock*, 4> blocks;
  loop.getUniqueExitBlocks(blocks);
  return blocks;
}

}  // namespace

const char* ExitChecks::add(llvm::Loop& loop, const Access& access) {
  if (const char* reason = facts_.disturbance_of(loop)) return reason;
  const llvm::BasicBlock* block = access.instruction->getParent();
  if (!facts_.runs_in_every_iteration(loop, block)) return "it is not executed in every iteration";
  llvm::ScalarEvolution& evolution = facts_.evolution();
  const auto* recurrence = facts_.recurrence_of(evolution.getSCEV(access.address), loop);
  if (recurrence == nullptr) return "its address does not go in equal steps";
  Range range;
  range.accesses.access = access;
  range.start = recurrence->getStart();
  range.step = recurrence->getStepRecurrence(evolution);
  if (const char* reason = obstacle_of(loop, range)) return reason;
  loop.getExitingBlocks(range.exits_after);
  llvm::erase_if(range.exits_after,
                 [&](const llvm::BasicBlock* exit) { return !facts_.dominators().dominates(block, exit); });
  add(loops_[&loop].ranges, range);
  return nullptr;
}

const char* ExitChecks::obstacle_of(llvm::Loop& loop, const Range& range) {
  llvm::ScalarEvolution& evolution = facts_.evolution();
  const std::uint64_t most = evolution.getSmallConstantMaxTripCount(&loop);
  if (most != 0 && most <= kFirstIterations) return "the loop has few iterations";
  // A loop that is counted can be vectorised, if we do not count along.
  const bool is_counted = facts_.obstacle_of(loop) == nullptr;
  if (is_counted || !facts_.is_known_before(range.start, loop) || !facts_.is_known_before(range.step, loop)) {
    return "its range cannot be computed before the loop";
  }
  if (!evolution.isKnownNonZero(range.step)) return "its address may stay the same for ever";
  const auto exits = exit_blocks(loop);
  if (exits.size() > kMaxExitBlocks) return "the loop has many exits";
  const auto is_simple = [](const llvm::BasicBlock* exit) { return !exit->isEHPad(); };
  if (!loop.hasDedicatedExits() || !llvm::all_of(exits, is_simple)) return "the loop has no simple form";
  return nullptr;
}

// Together with another one of the same addresses, if there is one.
void ExitChecks::add(Ranges& ranges, const Range& range) {
  const Access& access = range.accesses.access;
  auto* same = llvm::find_if(ranges, [&](const Range& other) {
    return other.start == range.start && other.step == range.step && other.exits_after == range.exits_after &&
           other.accesses.access.size == access.size;
  });
  if (same != ranges.end()) return same->accesses.add(access);
  ranges.push_back(range);
}

void ExitChecks::write(llvm::function_ref<void(const Access&)> say) {
  // First what needs the blocks as they were, then what splits them.
  for (auto& [loop, checked] : loops_) compute(*loop, checked);
  for (const auto& [loop, checked] : loops_) {
    for (const Exit& exit : checked.exits) check_at(exit, checked);
    check_first_iterations(checked);
    for (const Range& range : checked.ranges) {
      range.accesses.mark_as_checked();
      say(range.accesses.access);
    }
  }
}

void ExitChecks::compute(llvm::Loop& loop, CheckedLoop& checked) {
  llvm::ScalarEvolution& evolution = facts_.evolution();
  llvm::BasicBlock& header = *loop.getHeader();
  llvm::SCEVExpander expander(evolution, header.getModule()->getDataLayout(), "deadheat");
  llvm::Instruction* before = loop.getLoopPreheader()->getTerminator();
  for (Range& range : checked.ranges) {
    range.start_value = expander.expandCodeFor(range.start, range.accesses.access.address->getType(), before);
    range.step_value = expander.expandCodeFor(range.step, facts_.number(), before);
  }
  const llvm::SCEV* iteration = evolution.getAddRecExpr(
      evolution.getZero(facts_.number()), evolution.getOne(facts_.number()), &loop, llvm::SCEV::FlagAnyWrap);
  checked.iteration = expander.expandCodeFor(iteration, facts_.number(), &*header.getFirstInsertionPt());
  for (llvm::BasicBlock* block : exit_blocks(loop)) checked.exits.push_back(exit_at(*block, checked));
}

ExitChecks::Exit ExitChecks::exit_at(llvm::BasicBlock& block, const CheckedLoop& checked) const {
  const auto choose_by_edge = [&](const char* name, llvm::function_ref<llvm::Value*(llvm::BasicBlock*)> value) {
    llvm::IRBuilder<> builder(&block, block.begin());
    llvm::PHINode* chosen = builder.CreatePHI(facts_.number(), llvm::pred_size(&block), name);
    for (llvm::BasicBlock* before : llvm::predecessors(&block)) chosen->addIncoming(value(before), before);
    return chosen;
  };
  Exit exit{&block, choose_by_edge("deadheat.complete", [&](llvm::BasicBlock*) { return checked.iteration; })};
  for (const Range& range : checked.ranges) {
    exit.last.push_back(choose_by_edge("deadheat.last", [&](llvm::BasicBlock* before) {
      return llvm::ConstantInt::get(facts_.number(), llvm::is_contained(range.exits_after, before) ? 1 : 0);
    }));
  }
  return exit;
}

void ExitChecks::check_at(const Exit& exit, const CheckedLoop& checked) {
  llvm::Instruction* place = &*exit.block->getFirstInsertionPt();
  llvm::IRBuilder<> builder(place);
  llvm::Value* has_more = builder.CreateICmpUGE(exit.complete, builder.getInt64(kFirstIterations));
  builder.SetInsertPoint(llvm::SplitBlockAndInsertIfThen(has_more, place, /*Unreachable=*/false));
  for (const auto& [range, last] : llvm::zip(checked.ranges, exit.last)) {
    const Access& access = range.accesses.access;
    builder.SetCurrentDebugLocation(access.instruction->getDebugLoc());
    llvm::Value* count = builder.CreateAdd(exit.complete, last, "deadheat.count");
    call_after_range(builder, {range.start_value, range.step_value, count, builder.getInt64(range_shape(access))});
  }
}

// One branch for all accesses of a block, at the last of them: the others have just
// been executed.
void ExitChecks::check_first_iterations(const CheckedLoop& checked) {
  llvm::MapVector<llvm::BasicBlock*, llvm::SmallVector<Access, 4>> by_block;
  for (const Range& range : checked.ranges) {
    const Access& access = range.accesses.access;
    by_block[access.instruction->getParent()].push_back(access);
  }
  for (const auto& [block, accesses] : by_block) {
    llvm::Instruction* last = accesses[0].instruction;
    for (const Access& access : accesses) {
      if (last->comesBefore(access.instruction)) last = access.instruction;
    }
    llvm::IRBuilder<> builder(last);
    llvm::Value* is_first = builder.CreateICmpULT(checked.iteration, builder.getInt64(kFirstIterations));
    llvm::MDNode* seldom = llvm::MDBuilder(builder.getContext()).createBranchWeights(1, 1 << 10);
    builder.SetInsertPoint(llvm::SplitBlockAndInsertIfThen(is_first, last, /*Unreachable=*/false, seldom));
    for (const Access& access : accesses) call_check(builder, access.address, access);
  }
}

}  // namespace deadheat::pass
