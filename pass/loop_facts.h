// SPDX-License-Identifier: Apache-2.0
// What the checks of loops (hoisting.h, exits.h) ask of a loop: whether a check may
// move out of it, whether it ends, and how often a block of it is executed.
//
// Answers that are reasons are texts for people; null means that there is none.
#pragma once

#include "access.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/PassManager.h"

namespace deadheat::pass {

// Accesses at the same addresses in each iteration. One stands for all: a write, if
// there is one (elimination.h).
struct SameAddresses {
  Access access;
  llvm::SmallVector<Access, 2> also;

  void add(const Access& other);
  void mark_as_checked() const;
};

class LoopFacts {
 public:
  LoopFacts(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);

  // Why a check cannot move out of the loop.
  const char* disturbance_of(llvm::Loop& loop);
  // Why the number of iterations is not known before the loop, or of no use.
  const char* obstacle_of(llvm::Loop& loop);

  // The block is executed each time that the loop is entered.
  [[nodiscard]] bool runs_at_least_once(const llvm::Loop& loop, const llvm::BasicBlock* block) const;
  // The block is executed in every iteration, except perhaps the last.
  [[nodiscard]] bool runs_in_every_iteration(const llvm::Loop& loop, const llvm::BasicBlock* block) const;
  // How often such a block is executed each time that the loop is entered, 64 bits. For a
  // loop without obstacle.
  const llvm::SCEV* executions(llvm::Loop& loop, const llvm::BasicBlock* block);

  // The address as a recurrence of the loop in equal steps of 64 bits; null if it is none.
  const llvm::SCEVAddRecExpr* recurrence_of(const llvm::SCEV* address, const llvm::Loop& loop);

  // Before the loop the part is known and can be computed.
  bool is_known_before(const llvm::SCEV* part, const llvm::Loop& loop);

  [[nodiscard]] llvm::ScalarEvolution& evolution() { return evolution_; }
  [[nodiscard]] const llvm::DominatorTree& dominators() const { return dominators_; }
  [[nodiscard]] llvm::Type* number() const { return number_; }

 private:
  using Reasons = llvm::DenseMap<const llvm::Loop*, const char*>;
  static const char* remembered(Reasons& reasons, llvm::Loop& loop, llvm::function_ref<const char*()> find);
  const char* find_disturbance(llvm::Loop& loop);
  const char* find_obstacle(llvm::Loop& loop);
  // Before the loop it is known after how many iterations the exit would be taken.
  bool has_known_count(llvm::Loop& loop, const llvm::BasicBlock* exit);
  bool is_finite(llvm::Loop& loop);
  bool steps_through_memory(llvm::Loop& loop);
  // All of them are executed in every iteration; the order is that of execution.
  llvm::SmallVector<llvm::BasicBlock*, 4> exits_in_order(const llvm::Loop& loop) const;

  llvm::Function& function_;
  llvm::LoopInfo& loops_;
  llvm::ScalarEvolution& evolution_;
  llvm::DominatorTree& dominators_;
  const llvm::TargetLibraryInfo& library_;
  llvm::Type* number_;
  Reasons disturbances_;
  Reasons obstacles_;
};

}  // namespace deadheat::pass
