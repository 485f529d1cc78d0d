// SPDX-License-Identifier: Apache-2.0
// The agent in a process that was running already: the command line has put it there
// (watch/attach/inject.h) and started a thread in it that libc does not know.
//
// Nothing may be called of libc here, and nothing needs to be: whatever lock a thread of the program holds, in malloc
// or in the loader, is nothing to us. The program's calls of synchronisation come to us by the words of its modules'
// tables of addresses; what a module calls by other means does not tick the clocks, which makes suspects, not races.
#pragma once

#include "watch/attach_block.h"

namespace deadheat::watch {

// Puts back what the words were that lead to us, but for the late ones.
void restore_calls(AttachBlock& block);

}  // namespace deadheat::watch
