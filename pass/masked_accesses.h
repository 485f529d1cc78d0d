// SPDX-License-Identifier: Apache-2.0
// Vector operations that access some lanes only, or each where an index says: under masks,
// gathers and scatters, LLVM's own and the machine's intrinsics.
#pragma once

#include "inline_check.h"

namespace deadheat::pass {

// Returns whether there were any.
bool instrument_masked_accesses(llvm::Function& function, RuntimeSymbols& runtime);

}  // namespace deadheat::pass
