// SPDX-License-Identifier: Apache-2.0
// The one thread of the runtime's own, which a process that samples has.
#pragma once

namespace deadheat::runtime {

// A thread with all signals blocked that is inside the runtime for ever and calls `work`. False if there cannot be one.
[[nodiscard]] bool start_own_thread(void (*work)());
// After `work` was told to return: until the system has no such thread, for a second at most.
void wait_for_own_thread();

}  // namespace deadheat::runtime
