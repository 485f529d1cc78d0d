// SPDX-License-Identifier: Apache-2.0
// Checks that another check makes unnecessary, and checks that can be made
// together.
//
// Repeated accesses. If on every path to an access the same bytes were checked for
//   a kind that subsumes it (a write subsumes both), with no end of the stretch
//   and no new value of the pointer in between, the check would find its own
//   entry. This is the same-epoch rule, applied at compile time.
//
// Read before write. A read that a write of the same bytes follows in its block, in
//   the same stretch and for certain: whoever races with the read races with the
//   write. The report shows the write. (clang's own pass does the same.)
//
// Neighbours. Accesses of one kind at constant distances in one block and one
//   stretch share a check, at the place of the first; the others are certain to
//   follow. It asks whether all of them are settled. If not, the runtime is called
//   for each one, with its own size and line: nothing is lost in reports.
#pragma once

#include "access.h"
#include "inline_check.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Function.h"

namespace deadheat::pass {

// An access of the function, in the order of the instructions of its block.
struct Candidate {
  Access access;
  bool needs_check = true;  // false: something else checks it, it may still stand for others
};

// Marks what needs no check. Returns how many.
std::size_t eliminate_repeated(llvm::Function& function, llvm::MutableArrayRef<Candidate> candidates,
                               const llvm::TargetLibraryInfo& library);
std::size_t eliminate_reads_before_writes(llvm::MutableArrayRef<Candidate> candidates,
                                          const llvm::TargetLibraryInfo& library);

// The checks of what is left.
[[nodiscard]] llvm::SmallVector<CheckGroup, 16> group_neighbours(llvm::ArrayRef<Candidate> candidates,
                                                                 const llvm::TargetLibraryInfo& library);

}  // namespace deadheat::pass
