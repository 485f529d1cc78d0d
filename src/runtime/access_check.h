// SPDX-License-Identifier: Apache-2.0
// Between the compiler's hooks and the detector: what a hook calls when its fast
// check has not settled the access.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "model/finding.h"
#include "model/identity.h"
#include "runtime/thread_state.h"

namespace deadheat::runtime {

// False until a second thread is announced; before that an entry can be replaced
// without a locked instruction. Never goes back.
[[gnu::visibility("hidden")]] extern std::atomic<bool> has_many_threads;

// An access of the program's own code, any size and alignment. `flags` are
// raw_report::kAccess...
void check_access(AccessKind kind, Address address, std::size_t size, Address code, std::uint8_t flags);

// The same for the common case: a plain read or write of 1, 2, 4 or 8 bytes. The
// second tier after the hook's own check: first access of the word in this epoch,
// nothing wrong, room in the cell.
template <AccessKind kKind, std::size_t kSize>
void check_first(Address address, Address code);

// The access half of an atomic operation; the caller records the event. Inside a
// RuntimeScope.
void check_atomic(ThreadState& self, AccessKind kind, Address address, std::size_t size, Address code);

}  // namespace deadheat::runtime
