// SPDX-License-Identifier: Apache-2.0
// Loads that the optimiser must take as they are.
#pragma once

#include "llvm/IR/Function.h"

namespace deadheat::pass {

// Loads through a choice of two addresses become volatile: nobody makes two loads of
// them. Until unshield_loads().
void shield_loads_of_choices(llvm::Function& function);
void unshield_loads(llvm::Function& function);

// Masked loads become calls of functions of which nobody knows that they could load all
// lanes. Until show_masked_loads(). Both return whether there were any.
bool hide_masked_loads(llvm::Function& function);
bool show_masked_loads(llvm::Function& function);

}  // namespace deadheat::pass
