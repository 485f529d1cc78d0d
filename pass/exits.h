// SPDX-License-Identifier: Apache-2.0
// Loops whose end is found on the way: their accesses are checked as a whole, after
// the loop, when it is known how often they were executed.
//
//   while (i < n && a[i] != key) ++i;    __deadheat_after_range(a, 8, i + (i < n), read of 8)
//
// Counting. Iterations are counted from 0 in a register; most loops have that number
//   anyway. At an exit it says how many iterations are complete. The access was
//   executed once more if its block dominates the exit: whoever takes the exit has been
//   there in this iteration. If it does not, the block was not executed in the last
//   iteration at all. It would have to lead to the exit without a new iteration, and
//   the exit to it, for the block is executed in every complete iteration: a cycle
//   inside the loop, and accesses of inner loops are theirs. An exit block that
//   several exits lead to chooses by the edge it is entered by.
//
// Short loops. Most searches end soon, and then a call costs more than it saves. The
//   first iterations are checked one by one in the loop, as without all this. The call
//   comes if there were more; it is for all iterations, those included.
//
// Why this keeps every race and invents none
//
//   The conditions of hoisting.h hold: the loop has no end of a stretch, so the call
//   after it has the epoch of the accesses, and no other thread has heard of them: what
//   is ordered after the loop is ordered after the call. Of two accesses without order
//   the one that is checked second finds the entry of the other, whichever it is.
//   Memory is not given back in the loop: that ends a stretch, too.
//
//   The call comes. Nothing in the loop may throw, end the program or never come
//   back, and the loop is not endless: in every iteration its access goes on through
//   memory, by steps that are not 0, and memory does not go on for ever. (Steps of
//   any length lead to the upper half of the address space at some time, and no
//   program may go there.) A loop that waits for another thread does not do that: it
//   looks at one address again and again, which is checked before the loop or in it.
//
//   What is lost: the accesses of a loop in which the program crashes, or during which
//   another thread ends it (docs/limits.md).
#pragma once

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallVector.h"
#include "loop_facts.h"

namespace deadheat::pass {

// So many iterations are checked one by one.
inline constexpr std::uint64_t kFirstIterations = 32;

class ExitChecks {
 public:
  explicit ExitChecks(LoopFacts& facts) : facts_(facts) {}

  // The access of the loop will be checked at its exits; if not, why not.
  const char* add(llvm::Loop& loop, const Access& access);

  // Puts the checks into the function, and calls `say` for each access that they are for.
  void write(llvm::function_ref<void(const Access&)> say);
  [[nodiscard]] bool empty() const { return loops_.empty(); }

 private:
  struct Range {
    SameAddresses accesses;
    const llvm::SCEV* start = nullptr;
    const llvm::SCEV* step = nullptr;
    // Where the loop ends after the access.
    llvm::SmallVector<llvm::BasicBlock*, 4> exits_after;
    // The values of start and step, from before the loop on.
    llvm::Value* start_value = nullptr;
    llvm::Value* step_value = nullptr;
  };
  // A block that exits lead to, and what the edge by which it is entered says.
  struct Exit {
    llvm::BasicBlock* block = nullptr;
    llvm::Value* complete = nullptr;               // iterations
    llvm::SmallVector<llvm::Value*, 4> last = {};  // for each range: 1 if executed in the last one, or 0
  };
  using Ranges = llvm::SmallVector<Range, 4>;
  struct CheckedLoop {
    Ranges ranges;
    llvm::SmallVector<Exit, 4> exits;
    llvm::Value* iteration = nullptr;  // its number, from 0
  };

  const char* obstacle_of(llvm::Loop& loop, const Range& range);
  static void add(Ranges& ranges, const Range& range);
  void compute(llvm::Loop& loop, CheckedLoop& checked);
  [[nodiscard]] Exit exit_at(llvm::BasicBlock& block, const CheckedLoop& checked) const;
  static void check_at(const Exit& exit, const CheckedLoop& checked);
  static void check_first_iterations(const CheckedLoop& checked);

  LoopFacts& facts_;
  llvm::MapVector<llvm::Loop*, CheckedLoop> loops_;
};

}  // namespace deadheat::pass
