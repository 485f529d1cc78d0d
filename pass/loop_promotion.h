// SPDX-License-Identifier: Apache-2.0
// LICM's promotion of memory to registers, and when it reads what the loop may not read.
#pragma once

#include "llvm/Analysis/LoopInfo.h"

namespace deadheat::pass {

// True if LICM, asked to promote, would load a variable before the loop although no
// access of it is certain in the loop.
//
//   for (i = 0; i < n; i++) if (i == wanted) sum += 3;
//
// The variable must be there for certain (else LICM cannot either), and no access to
// it be executed whenever the loop is entered. A loop that tests its condition first is no
// exception: LICM comes again when the loop has been rotated.
[[nodiscard]] bool promotion_would_invent(const llvm::Loop& loop);

}  // namespace deadheat::pass
