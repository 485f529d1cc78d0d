// SPDX-License-Identifier: Apache-2.0
// How much of the program's progress (ThreadLocal::progress) a piece of code makes.
//
// Progress is counted in instructions, roughly, so that it comes evenly: what is slower in a
// sampling period is told from what does something else (src/core/pace.h). Both versions of a
// function (two_versions.h) count alike.
//
// Iterations of an inner loop are not counted one by one where that would cost time: a variable
// that advances by a constant in each of them tells how many there were, when the loop ends.
#pragma once

#include <cstdint>
#include <optional>

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/BasicBlock.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"

namespace deadheat::pass {

// A loop without other loops in it whose iterations can be told from a variable.
struct LoopCount {
  llvm::PHINode* variable = nullptr;
  llvm::BasicBlock* latch = nullptr;  // its end, from which it goes on at its beginning
  llvm::Value* next = nullptr;        // what the variable is in the next iteration
  std::int64_t step = 0;
  // What the variable advances by, times one, divided by the other (a power of two): progress.
  std::uint64_t factor = 1;
  unsigned shift = 0;

  [[nodiscard]] std::uint64_t per_iteration() const;
  // From the beginning of the loop to a value of the variable.
  [[nodiscard]] llvm::Value* between(llvm::IRBuilder<>& builder, llvm::Value& begin, llvm::Value& end) const;
};

// None if there is no such variable, or if the loop is known to be short.
[[nodiscard]] std::optional<LoopCount> count_of(const llvm::Loop& loop, const llvm::DominatorTree& dominators);

// Of one iteration, without those of the loops in it.
[[nodiscard]] std::uint64_t weight_of(const llvm::Loop& loop, const llvm::DominatorTree& dominators);
// Of one call, without its loops.
[[nodiscard]] std::uint64_t weight_of(const llvm::Function& function, const llvm::LoopInfo& loops,
                                      const llvm::DominatorTree& dominators);

}  // namespace deadheat::pass
