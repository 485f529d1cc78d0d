// SPDX-License-Identifier: Apache-2.0
// Setting up and closing down.
//
// Whoever comes first starts the runtime: __tsan_init from the program's
// .preinit_array or a module's constructor, an intercepted function, a hook. If
// something vital is refused (address space for the shadow), the runtime stays
// off, says so once, and the program runs unobserved.
#pragma once

#include <atomic>

namespace deadheat::runtime {

struct ThreadState;

// Idempotent; the thread that comes second waits for the first.
void ensure_started();

// Detection is off for good: accesses and synchronisation do nothing.
extern std::atomic<bool> detection_is_off;

// Makes the hooks for plain accesses return at once, by writing a return
// instruction at their beginnings: without shadow their fast checks would fault.
// Once, before there are threads.
void silence_access_hooks();

// The thread's accesses must all take the slow path: detection is off, the
// thread ignores something, or events are recorded.
[[nodiscard]] bool takes_slow_path(const ThreadState& thread);

// At exit: sends the summary and returns the status to exit with.
[[nodiscard]] int on_process_exit(int status);

}  // namespace deadheat::runtime
