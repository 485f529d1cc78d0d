// SPDX-License-Identifier: Apache-2.0
// Copies of a few bytes. Assigning a structure is a memcpy with a constant size to the
// compiler, of which clang's own pass makes a call. The code generator would make
// a few moves of it: so does this, and they are checked like others.
#pragma once

#include "llvm/IR/Function.h"

namespace deadheat::pass {

// Before the accesses of the function are looked for. Returns whether there were any.
bool expand_small_copies(llvm::Function& function);

}  // namespace deadheat::pass
