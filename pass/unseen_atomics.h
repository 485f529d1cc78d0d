// SPDX-License-Identifier: Apache-2.0
// Atomic operations of code that runs without checks: the machine's own instruction
// instead of a call of the runtime's hook, as long as nobody needs to know of them.
//
// The runtime says when that is (ThreadLocal::runs_unchecked). An operation that gets order from others
// must not be let pass when what it reads was written after the runtime has begun to record
// (src/runtime/unchecked_code.h has the argument):
//
//   load                value = load; if (!runs_unchecked) value = hook
//   store               if (runs_unchecked) store else hook
//   read-modify-write   mark; if (runs_unchecked) { operation; unmark } else { unmark; hook }
//
// A load may be made again when it turns out that it was to be seen. A read-modify-write may not; so it is
// marked, in ThreadLocal::unseen, and the runtime begins to record when no mark is left.
//
// The compiler's own pass, which comes later, makes a call of a hook of the second one, as of
// all others; the first one has the mark of code that is not the program's.
#pragma once

#include "inline_check.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/IR/BasicBlock.h"

namespace deadheat::pass {

// Of the atomic operations in these blocks. Splits blocks. Returns whether there were any.
bool inline_unseen_atomics(llvm::ArrayRef<llvm::BasicBlock*> blocks, RuntimeSymbols& runtime);

}  // namespace deadheat::pass
