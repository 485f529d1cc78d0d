// SPDX-License-Identifier: Apache-2.0
// Inline assembly that accesses memory.
//
// Its operands in memory are accesses of the program; so is what a locked instruction
// reaches through a register. A lock prefix or xchg orders, as in the locks of old code
// bases, and so does a statement that tells the compiler of memory it may change: a
// plain store that gives up a lock. The processor has no other order to offer.
//
// The runtime hands on order before the statement and takes it over after it. A failed
// attempt to take a lock hands on order, too, which can hide a race and invents none.
#pragma once

#include "access.h"
#include "inline_check.h"

namespace deadheat::pass {

// Returns whether anything was changed.
bool instrument_assembly(llvm::Function& function, RuntimeSymbols& runtime, HarmlessAccesses& harmless);

}  // namespace deadheat::pass
