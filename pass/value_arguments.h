// SPDX-License-Identifier: Apache-2.0
// Objects that are handed over by value. The caller copies them to the stack for the
// callee, and no instruction says so: the argument is a pointer with the attribute byval.
#pragma once

#include "access.h"
#include "llvm/IR/Function.h"

namespace deadheat::pass {

// Puts a call of __deadheat_check, a read of the whole object, before each call that
// copies an object which another thread can have anything to do with. Returns whether
// there were any.
bool check_value_arguments(llvm::Function& function, HarmlessAccesses& harmless);

}  // namespace deadheat::pass
