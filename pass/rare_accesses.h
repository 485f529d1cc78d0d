// SPDX-License-Identifier: Apache-2.0
// Accesses that are not loads or stores and that clang's own pass leaves out:
// masked and scattered vectors, atomic operations without a hook. They are rare, and
// each becomes calls of the runtime.
#pragma once

#include "access.h"
#include "inline_check.h"
#include "llvm/IR/Function.h"

namespace deadheat::pass {

// Returns whether anything was changed. May split blocks.
bool instrument_rare_accesses(llvm::Function& function, RuntimeSymbols& runtime);

}  // namespace deadheat::pass
