// SPDX-License-Identifier: Apache-2.0
// The code that is mapped: reports need to know where each file of code lies, and
// memory of a module that was unloaded must be forgotten.
#pragma once

#include "model/identity.h"

namespace deadheat::runtime {

// Notes the modules that are mapped now, and calls visit_unloaded(begin, end) for each that was at the
// last call and is gone. Takes a lock of the dynamic linker: at start, and where the program loads
// or unloads a library itself.
void note_modules(void (*visit_unloaded)(Address begin, Address end));

// Sends the list of those that were noted last; in any thread, at any time.
void send_modules();

// In the child of a fork, where nobody else exists.
void unlock_modules_in_child();

}  // namespace deadheat::runtime
