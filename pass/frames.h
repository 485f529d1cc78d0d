// SPDX-License-Identifier: Apache-2.0
// Open calls. The runtime keeps a stack of them per thread (struct Frame in
// src/runtime/thread_state.h), from which reports get their stacks.
//
//   a function that calls others   puts its return address there when it begins and
//                                  takes it away when it ends, inline
//   one that calls nobody          only when a check fails: then the hook does both
#pragma once

#include "inline_check.h"
#include "llvm/IR/Function.h"

namespace deadheat::pass {

// After all checks are in their places. Also for functions that are not checked: they
// may call some that are. Returns whether anything was changed.
bool instrument_frames(llvm::Function& function, RuntimeSymbols& runtime);

}  // namespace deadheat::pass
