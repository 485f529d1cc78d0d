// SPDX-License-Identifier: Apache-2.0
// The accesses that g++'s -fsanitize=thread does not see, one kind to a function: each looks
// at a statement and puts calls of the runtime beside it.
#pragma once

#include "gcc.h"

namespace deadheat::gcc_pass {

// Behind gcc's own pass of -fsanitize=thread.
void register_pass(const char* plugin_name);

// Structures that a call takes or gives back by value.
void check_values(gcall& call, gimple_stmt_iterator at);

// memcpy and the like, which become moves in place, and comparisons of strings, which become loops.
// Such a call stays a call from here on, or is checked.
void check_memory_function(gcall& call, gimple_stmt_iterator at);

// Intrinsics of the machine that access memory: under masks, by lists of indexes, past the cache.
void check_vector_intrinsic(gcall& call, gimple_stmt_iterator at);

// Operands of inline assembly that lie in memory.
void check_assembly(gasm& statement, gimple_stmt_iterator at);

}  // namespace deadheat::gcc_pass
