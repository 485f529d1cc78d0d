// SPDX-License-Identifier: Apache-2.0
#include "two_versions.h"

#include <optional>
#include <utility>

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/CFG.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/Local.h"
#include "llvm/Transforms/Utils/SSAUpdater.h"
#include "loop_progress.h"
#include "stretches.h"
#include "unseen_atomics.h"

namespace deadheat::pass {

namespace {

// Longer functions would take the compiler too long.
constexpr std::size_t kMaxInstructions = 20'000;

// Calls that are there for the sake of checks alone.
bool is_check(const llvm::Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  const llvm::Function* callee = call == nullptr ? nullptr : call->getCalledFunction();
  if (callee == nullptr || !is_quiet_hook(instruction)) return false;
  llvm::StringRef name = callee->getName();
  if (name.starts_with("__deadheat_")) return true;
  name.consume_front("__tsan_");
  return name.starts_with("read") || name.starts_with("write") || name.starts_with("unaligned_") ||
         name.starts_with("volatile_") || name.starts_with("vptr_");
}

// Things that exist once, or whose copies would mean something else.
bool can_be_copied(const llvm::Function& function) {
  if (function.hasOptNone() || function.hasMinSize() || function.isPresplitCoroutine()) return false;
  std::size_t count = 0;
  for (const llvm::BasicBlock& block : function) {
    if (block.hasAddressTaken() || (block.isEHPad() && !block.isLandingPad())) return false;
    if (llvm::isa<llvm::IndirectBrInst, llvm::CallBrInst>(block.getTerminator())) return false;
    for (const llvm::Instruction& instruction : block) {
      if (++count > kMaxInstructions || instruction.getType()->isTokenTy()) return false;
      const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      if (call == nullptr) continue;
      if (call->cannotDuplicate() || call->isConvergent() || call->hasFnAttr(llvm::Attribute::ReturnsTwice))
        return false;
      if (const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(call)) {
        if (intrinsic->getIntrinsicID() == llvm::Intrinsic::localescape) return false;
      }
    }
  }
  return true;
}

// From one block to another, in or out of an inner loop.
struct Edge {
  bool is_asked = false;             // which version is to run
  std::optional<LoopCount> repeats;  // of a loop with checks: goes on at its beginning
  std::optional<LoopCount> leaves;
  bool has_checks = false;      // the loop that it leaves
  llvm::Value* last = nullptr;  // what the loop's variable is then
  bool is_counted = false;      // and whether the last iteration is counted by that

  void leave(const LoopCount& count, bool with_checks, const llvm::BasicBlock& from,
             const llvm::DominatorTree& dominators) {
    leaves = count;
    has_checks = with_checks;
    is_counted = dominators.dominates(llvm::cast<llvm::Instruction>(count.next)->getParent(), &from);
    last = is_counted ? count.next : count.variable;
  }
};
using Edges = llvm::MapVector<std::pair<llvm::BasicBlock*, llvm::BasicBlock*>, Edge>;

class Duplicator {
 public:
  Duplicator(llvm::Function& function, llvm::ArrayRef<CheckGroup> groups, RuntimeSymbols& runtime,
             const llvm::TargetLibraryInfo& library)
      : function_(function), runtime_(runtime), library_(library) {
    for (const CheckGroup& group : groups) checked_places_.insert(group.before);
    for (llvm::BasicBlock& block : function) {
      for (llvm::Instruction& instruction : block) {
        if (is_check(instruction)) checked_places_.insert(&instruction);
      }
    }
  }

  bool run(const llvm::TargetTransformInfo& target) {
    if (checked_places_.empty() || !can_be_copied(function_) || !plan_loops()) return false;
    split_entry();
    split_after_calls();
    copy_blocks();
    join_versions();
    merge_values();
    clean_up(target);
    return true;
  }

 private:
  using Blocks = llvm::SmallVector<llvm::BasicBlock*, 32>;

  // Where the version without checks asks again after the instruction.
  [[nodiscard]] bool is_asked_after(const llvm::Instruction& instruction) const {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    if (call == nullptr || llvm::isa<llvm::IntrinsicInst>(call) || call->isMustTailCall()) return false;
    return !call->doesNotReturn() && ends_stretch(instruction, library_);
  }

  // What the loops are like decides on the blocks that both versions share. False if
  // they have a form that is not provided for.
  bool plan_loops() {
    const llvm::DominatorTree dominators(function_);
    const llvm::LoopInfo loops(dominators);
    llvm::ReversePostOrderTraversal<const llvm::Function*> order(&function_);
    if (llvm::containsIrreducibleCFG<const llvm::BasicBlock*>(order, loops)) return false;
    Edges edges;
    for (llvm::Loop* loop : loops.getLoopsInPreorder()) {
      bool has_checks = false;
      bool has_calls = false;
      for (const llvm::BasicBlock* block : loop->blocks()) {
        for (const llvm::Instruction& instruction : *block) {
          has_checks |= checked_places_.contains(&instruction) || ends_stretch(instruction, library_);
          has_calls |= is_asked_after(instruction);
        }
      }
      llvm::BasicBlock* header = loop->getHeader();
      if (header->isEHPad()) return false;
      if (has_checks && (has_calls || !loop->isInnermost())) {
        shared_[header] = weight_of(*loop, dominators);
        headers_.push_back(header);
        continue;
      }
      const std::optional<LoopCount> count = count_of(*loop, dominators);
      llvm::SmallVector<llvm::Loop::Edge, 4> exits;
      loop->getExitEdges(exits);
      for (const auto& [from, to] : exits) {
        if (!has_checks) edges[{from, to}].is_asked = true;
        if (count) edges[{from, to}].leave(*count, has_checks, *from, dominators);
      }
      if (!has_checks) {
        if (!loop->isInnermost()) note_iteration(*header, weight_of(*loop, dominators));
        continue;
      }
      for (llvm::BasicBlock* before : llvm::predecessors(header)) {
        if (!loop->contains(before)) continue;
        Edge& edge = edges[{before, header}];
        edge.is_asked = true;
        if (count) edge.repeats = *count;
      }
    }
    for (const auto& [ends, edge] : edges) {
      if (!ends.second->isEHPad()) add_block(*ends.first, *ends.second, edge);
    }
    for (llvm::BasicBlock* header : headers_) header->splitBasicBlock(header->getFirstNonPHIIt());
    weight_of_call_ = weight_of(function_, loops, dominators);
    return true;
  }

  void add_block(llvm::BasicBlock& from, llvm::BasicBlock& to, const Edge& edge) {
    llvm::BasicBlock* block = block_on_edge(from, to);
    if (edge.is_asked) asking_.push_back(block);
    if (edge.repeats) repeated_[block] = *edge.repeats;
    if (edge.leaves && edge.has_checks) left_.emplace_back(block, edge);
    // In both versions.
    if (edge.leaves && !edge.has_checks) note_iterations(*block, *edge.leaves, edge.last);
  }

  // Of a loop with others in it that was checked as a whole: both versions have it as it is.
  void note_iteration(llvm::BasicBlock& header, std::uint64_t weight) {
    llvm::IRBuilder<> builder(&header, header.getFirstInsertionPt());
    runtime_.note_progress(builder, *builder.getInt64(weight));
  }

  // On the way out of a loop, or to the other version of it.
  void note_iterations(llvm::BasicBlock& block, const LoopCount& count, llvm::Value* last) {
    llvm::Value* first = nullptr;
    for (unsigned at = 0; at < 2; ++at) {
      if (count.variable->getIncomingValue(at) != count.next) first = count.variable->getIncomingValue(at);
    }
    llvm::IRBuilder<> builder(block.getTerminator());
    runtime_.note_progress(builder, *count.between(builder, *first, *last));
  }

  static llvm::BasicBlock* block_on_edge(llvm::BasicBlock& from, llvm::BasicBlock& to) {
    llvm::BasicBlock* between = llvm::BasicBlock::Create(to.getContext(), "", to.getParent(), &to);
    llvm::BranchInst::Create(&to, between)->setDebugLoc(from.getTerminator()->getDebugLoc());
    from.getTerminator()->replaceSuccessorWith(&to, between);
    for (llvm::PHINode& merged : to.phis()) {
      bool is_first = true;
      for (unsigned at = 0; at < merged.getNumIncomingValues();) {
        if (merged.getIncomingBlock(at) != &from) {
          ++at;
        } else if (is_first) {
          merged.setIncomingBlock(at++, between);
          is_first = false;
        } else {
          merged.removeIncomingValue(at, /*DeletePHIIfEmpty=*/false);
        }
      }
    }
    return between;
  }

  void split_after_calls() {
    Blocks blocks;
    for (llvm::BasicBlock& block : function_) blocks.push_back(&block);
    for (llvm::BasicBlock* block : blocks) {
      if (block->isLandingPad()) {
        llvm::Instruction* pad = block->getFirstNonPHI();
        block->splitBasicBlock(std::next(pad->getIterator()));
        asking_.push_back(block);
        block = block->getSingleSuccessor();
      }
      llvm::SmallVector<llvm::Instruction*, 8> calls;
      for (llvm::Instruction& instruction : *block) {
        if (is_asked_after(instruction)) calls.push_back(&instruction);
      }
      for (std::size_t at = 0; at < calls.size(); ++at) {
        llvm::BasicBlock* here = calls[at]->getParent();  // a part of the block
        if (auto* invoke = llvm::dyn_cast<llvm::InvokeInst>(calls[at])) {
          asking_.push_back(block_on_edge(*here, *invoke->getNormalDest()));
        } else if (matters_between(calls[at], at + 1 < calls.size() ? calls[at + 1] : nullptr)) {
          here->splitBasicBlock(std::next(calls[at]->getIterator()));
          asking_.push_back(here);
        }
      }
    }
  }

  // Whether there is a check between the call and the next, or a way to one.
  [[nodiscard]] bool matters_between(const llvm::Instruction* call, const llvm::Instruction* next) const {
    for (const llvm::Instruction* at = call->getNextNode(); at != next && at != nullptr; at = at->getNextNode()) {
      if (checked_places_.contains(at)) return true;
      if (at->isTerminator()) return at->getNumSuccessors() != 0;
    }
    return false;
  }

  // The allocation of variables is shared.
  void split_entry() {
    llvm::BasicBlock& entry = function_.getEntryBlock();
    llvm::Instruction* body = &*entry.getFirstNonPHIOrDbgOrAlloca();
    llvm::SmallVector<llvm::AllocaInst*, 8> late;
    for (llvm::Instruction* at = body; at != nullptr; at = at->getNextNode()) {
      auto* variable = llvm::dyn_cast<llvm::AllocaInst>(at);
      if (variable != nullptr && variable->isStaticAlloca()) late.push_back(variable);
    }
    for (llvm::AllocaInst* variable : late) variable->moveBefore(body);
    entry.splitBasicBlock(body);
    shared_[&entry] = weight_of_call_;
  }

  void copy_blocks() {
    for (llvm::BasicBlock& block : function_) {
      if (!shared_.contains(&block)) originals_.push_back(&block);
    }
    for (llvm::BasicBlock* block : originals_) {
      llvm::BasicBlock* copy = llvm::CloneBasicBlock(block, copies_, ".unchecked", &function_);
      copies_[block] = copy;
      unchecked_.push_back(copy);
    }
    llvm::remapInstructionsInBlocks(unchecked_, copies_);
  }

  template <class Value>
  [[nodiscard]] Value* copy_of(Value* value) const {
    const auto found = copies_.find(value);
    return found == copies_.end() ? value : llvm::cast<Value>(found->second);
  }

  // Edges from one version to the other.
  void join_versions() {
    for (const auto& [block, weight] : shared_) {
      for (llvm::PHINode& merged : block->phis()) {
        const unsigned count = merged.getNumIncomingValues();
        for (unsigned at = 0; at < count; ++at) {
          llvm::BasicBlock* before = merged.getIncomingBlock(at);
          if (copy_of(before) != before) merged.addIncoming(copy_of(merged.getIncomingValue(at)), copy_of(before));
        }
      }
      llvm::BasicBlock* next = block->getSingleSuccessor();
      llvm::IRBuilder<> builder(block->getTerminator());
      runtime_.note_progress(builder, *builder.getInt64(weight));
      choose(*block, *copy_of(next), *next, nullptr);
    }
    llvm::MDNode* weights = llvm::MDBuilder(function_.getContext()).createBranchWeights(1 << 20, 1);
    for (llvm::BasicBlock* block : asking_) {
      llvm::BasicBlock* next = block->getSingleSuccessor();
      llvm::BasicBlock* copy = copy_of(block);
      if (shared_.contains(next)) continue;
      llvm::BasicBlock* change = copy;
      if (const auto found = repeated_.find(block); found != repeated_.end())
        change = count_iterations(*block, found->second);
      for (llvm::PHINode& merged : next->phis()) {
        merged.addIncoming(copy_of(merged.getIncomingValueForBlock(block)), change);
      }
      choose(*copy, *copy_of(next), change == copy ? *next : *change, weights);
    }
    for (const auto& [block, edge] : left_) {
      note_iterations(*copy_of(block), copy_of(*edge.leaves), copy_of(edge.last));
      if (edge.is_counted) note_iteration(*block, *edge.leaves);
    }
  }

  // Of an inner loop with checks: the version with checks counts every iteration, since one may take long in a
  // sampling period. The other counts when it ends or is left for that one: by the block that is returned.
  llvm::BasicBlock* count_iterations(llvm::BasicBlock& block, const LoopCount& count) {
    note_iteration(block, count);
    llvm::BasicBlock* next = block.getSingleSuccessor();
    llvm::BasicBlock* change = llvm::BasicBlock::Create(next->getContext(), "", &function_, next);
    llvm::BranchInst::Create(next, change)->setDebugLoc(block.getTerminator()->getDebugLoc());
    note_iterations(*change, copy_of(count), copy_of(count.next));
    return change;
  }

  void note_iteration(llvm::BasicBlock& block, const LoopCount& count) {
    llvm::IRBuilder<> builder(block.getTerminator());
    runtime_.note_progress(builder, *builder.getInt64(count.per_iteration()));
  }

  [[nodiscard]] LoopCount copy_of(const LoopCount& count) const {
    LoopCount copy = count;
    copy.variable = copy_of(count.variable);
    copy.next = copy_of(count.next);
    return copy;
  }

  void choose(llvm::BasicBlock& block, llvm::BasicBlock& unchecked, llvm::BasicBlock& checked, llvm::MDNode* weights) {
    llvm::Instruction* end = block.getTerminator();
    llvm::IRBuilder<> builder(end);
    llvm::Value* word = runtime_.runs_unchecked(builder);
    builder.CreateCondBr(builder.CreateICmpNE(word, builder.getInt64(0)), &unchecked, &checked, weights);
    end->eraseFromParent();
  }

  void merge_values() {
    llvm::SmallVector<llvm::PHINode*, 64> made;
    llvm::SSAUpdater updater(&made);
    llvm::SmallVector<llvm::Use*, 16> uses;
    for (llvm::BasicBlock* block : originals_) {
      llvm::BasicBlock* copy = copy_of(block);
      for (llvm::Instruction& original : *block) {
        if (original.use_empty()) continue;
        llvm::Instruction& twin = *copy_of(&original);
        uses.clear();
        for (llvm::Instruction* value : {&original, &twin}) {
          for (llvm::Use& use : value->uses()) {
            const auto* user = llvm::cast<llvm::Instruction>(use.getUser());
            if (user->getParent() != value->getParent() || llvm::isa<llvm::PHINode>(user)) uses.push_back(&use);
          }
        }
        if (uses.empty()) continue;
        updater.Initialize(original.getType(), original.getName());
        updater.AddAvailableValue(block, &original);
        updater.AddAvailableValue(copy, &twin);
        for (llvm::Use* use : uses) updater.RewriteUse(*use);
      }
    }
  }

  // What was there for checks only.
  void clean_up(const llvm::TargetTransformInfo& target) {
    llvm::SmallVector<llvm::WeakTrackingVH, 64> dead;
    for (llvm::BasicBlock* block : unchecked_) {
      for (llvm::Instruction& instruction : llvm::make_early_inc_range(*block)) {
        if (!is_check(instruction)) continue;
        for (llvm::Value* operand : instruction.operands()) dead.emplace_back(operand);
        instruction.eraseFromParent();
      }
    }
    inline_unseen_atomics(unchecked_, runtime_);
    llvm::SmallVector<llvm::WeakVH, 64> left(unchecked_.begin(), unchecked_.end());
    llvm::RecursivelyDeleteTriviallyDeadInstructionsPermissive(dead);
    for (llvm::WeakVH& value : left) {
      if (auto* block = llvm::cast_or_null<llvm::BasicBlock>(value)) llvm::simplifyCFG(block, target);
    }
    for (llvm::BasicBlock& block : function_) llvm::DeleteDeadPHIs(&block);
  }

  llvm::Function& function_;
  RuntimeSymbols& runtime_;
  const llvm::TargetLibraryInfo& library_;
  llvm::SmallPtrSet<const llvm::Instruction*, 32> checked_places_;
  llvm::SmallVector<llvm::BasicBlock*, 8> headers_;
  llvm::MapVector<llvm::BasicBlock*, std::uint64_t> shared_;  // and the progress that coming through means
  std::uint64_t weight_of_call_ = 1;
  Blocks asking_;  // where the version without checks asks; they have one successor each
  llvm::SmallDenseMap<llvm::BasicBlock*, LoopCount, 8> repeated_;  // of those, at the ends of inner loops with checks
  llvm::SmallVector<std::pair<llvm::BasicBlock*, Edge>, 8> left_;  // behind such loops
  Blocks originals_;
  Blocks unchecked_;
  llvm::ValueToValueMapTy copies_;
};

}  // namespace

bool make_unchecked_version(llvm::Function& function, llvm::MutableArrayRef<CheckGroup> groups, RuntimeSymbols& runtime,
                            const llvm::TargetLibraryInfo& library, const llvm::TargetTransformInfo& target) {
  if (!Duplicator(function, groups, runtime, library).run(target)) return false;
  for (CheckGroup& group : groups) {
    for (Access& access : group.accesses) {
      const auto* check = llvm::dyn_cast<llvm::CallInst>(access.instruction);
      access.address =
          check != nullptr ? check->getArgOperand(0) : llvm::getLoadStorePointerOperand(access.instruction);
    }
  }
  return true;
}

}  // namespace deadheat::pass
