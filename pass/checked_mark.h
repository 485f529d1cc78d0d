// SPDX-License-Identifier: Apache-2.0
// The mark of accesses that a check of a whole loop is for.
//
// Checks of loops are made before the vectoriser runs, the others at the end. What
// the vectoriser and the unroller make of a marked access must carry the mark:
// they keep `llvm.access.group`, which means nothing to anybody as long as no
// loop mentions the group. A pass that loses the mark costs a redundant check. A
// pass that merges a marked access with another one keeps what both have.
#pragma once

#include "llvm/IR/Instruction.h"

namespace deadheat::pass {

void mark_as_checked(llvm::Instruction& instruction);
[[nodiscard]] bool is_marked_as_checked(const llvm::Instruction& instruction);

}  // namespace deadheat::pass
