// SPDX-License-Identifier: Apache-2.0
// The code that is mapped: reports need to know where each file of code lies, and
// memory of a module that was unloaded must be forgotten.
#pragma once

#include "model/identity.h"

namespace deadheat::runtime {

// Sends the list of modules as they are now.
void send_modules();

// Compares the modules that are mapped now with those at the last call and calls
// visit(begin, end) for each that is gone.
void forget_unloaded_modules(void (*visit)(Address begin, Address end));

}  // namespace deadheat::runtime
