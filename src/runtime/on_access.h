// SPDX-License-Identifier: Apache-2.0
// Accesses of any size and alignment: called by the interceptors for what the
// real function reads and writes (memcpy, read(2), strlen), and by the slow ends
// of the compiler's hooks. `code` is the return address of the access.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/finding.h"
#include "model/identity.h"
#include "runtime/thread_state.h"

namespace deadheat::runtime {

// Does nothing for size 0 and for addresses that have no shadow.
void on_range(ThreadState& self, AccessKind kind, Address begin, std::size_t size, Address code);

// What interceptors use: nothing happens while inside the runtime, before it is
// ready, or when the range is empty.
void on_read(const volatile void* begin, std::size_t size, Address code);
void on_write(const volatile void* begin, std::size_t size, Address code);

}  // namespace deadheat::runtime
