// SPDX-License-Identifier: Apache-2.0
// What the interceptors need once per process and once per thread, and the few
// things that one family of interceptors tells another.
#pragma once

#include <cstdint>

namespace deadheat::runtime {

struct ThreadState;

// Once, in the main thread, as early as possible and before runtime_is_ready is
// set: the key that sees threads end, the exit and fork handlers. Handlers that
// are registered first run last at exit and right around the fork, so nothing of
// the program runs between them and the system call. Calling it again does
// nothing.
void prepare_interceptors();
void prepare_thread_ends();
void prepare_exits();
void prepare_forks();

// on_thread_finished() will be called when the current thread has run its TLS
// destructors and the destructors of its pthread keys. The interceptor of
// pthread_create calls it for new threads; a thread that registers itself as a
// root needs it, too. Calling it again does nothing.
void watch_end_of_thread();

// A thread has registered itself: what it was made for may be known all the same (notices.h).
void greet_unannounced_thread(ThreadState& thread);

// The current thread has finished as far as the runtime is concerned and is now
// in the hands of libc: it stays inside the runtime for ever.
[[nodiscard]] bool thread_has_ended();
// libc runs exit handlers in the last thread of a process whose main thread has
// called pthread_exit, after that thread has ended. It comes back as a root that
// everything done by ended threads happened before.
void revive_ended_thread();
// A thread of our own, inside the runtime, is about to end after all of the program's:
// the exit handlers may run in it.
void become_last_thread();

// In the child of a fork: signals that waited for the end of a scope were the
// parent's, and whoever was inside sigaction() does not exist here.
void reset_signals_in_child();

// The outermost scope has ended: libc's signal that cancels the thread may have come within it.
void cancel_if_signal_waits();

// Jump points (see jumps.cpp) set before a signal handler began are not its to
// forget, even if its stack lies elsewhere.
[[nodiscard]] std::uint32_t enter_handler_jumps();
void leave_handler_jumps(std::uint32_t outer);
// The thread ends: gives back its table.
void forget_jump_points();

// Whether this is the process that was prepared or forked, rather than a child
// of vfork() that borrows its memory.
[[nodiscard]] bool owns_its_memory();

}  // namespace deadheat::runtime
