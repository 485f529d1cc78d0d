// SPDX-License-Identifier: Apache-2.0
// The optimiser takes the source line from a load that it moves or makes of two. A
// report needs one: the line of what uses the value, which is the same statement in
// nearly all programs, or of the instruction behind it.
#pragma once

#include "llvm/IR/Function.h"

namespace deadheat::pass {

// For loads, stores and masked accesses that have no line, in functions that have debug information.
void give_lines(llvm::Function& function);

}  // namespace deadheat::pass
