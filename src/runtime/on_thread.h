// SPDX-License-Identifier: Apache-2.0
// The life of threads and fibers: called by the interceptors.
//
// A thread is announced by its creator before it runs, so that it inherits the
// creator's clock of that moment; it begins, finishes, and is then joined or
// detached. Handles (pthread_t) are known from creation to join, or to the end
// of a detached thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/identity.h"
#include "runtime/cold_sampling.h"
#include "runtime/thread_state.h"

namespace deadheat::runtime {

enum class Detached : std::uint8_t { kNo, kYes };

// Returns nullptr when there is no memory for another thread: create it
// unobserved then; it will register itself as a root.
[[nodiscard]] ThreadState* on_thread_creating(ThreadState& self, Detached detached, Address code);
// The real creation failed: forget it.
void on_thread_not_created(ThreadState& self, ThreadState* child);
// In the creator, after the real creation, before anybody can join: the handle.
// The child may already be running.
void on_thread_created(ThreadState& self, ThreadState* child, std::uint64_t handle);

// In the new thread, first of all. The stack is [stack_begin, stack_begin + size):
// its history is forgotten, as thread stacks are reused.
void on_thread_started(ThreadState* child, Address stack_begin, std::size_t stack_size);
// In the thread, last of all, after TLS destructors and pthread keys.
void on_thread_finished();

// By the joiner, before the real join (the handle may be reused right after) and
// after it has succeeded. Returns nullptr for a thread that is not known.
[[nodiscard]] ThreadState* find_thread(std::uint64_t handle);
void on_joined(ThreadState& self, ThreadState* child, std::uint64_t handle, Address code);
void on_detached(ThreadState& self, std::uint64_t handle, Address code);

// Cut to 15 characters. handle 0: the current thread.
void on_thread_named(std::uint64_t handle, const char* name);

// fork(2). Before: no other thread may hold a lock of the runtime. In the child
// only the calling thread lives on; the others count as finished and unjoined.
void on_fork_before();
void on_fork_parent();
void on_fork_child();

// Fibers: contexts that take turns on one thread. Switching orders the two
// unless kNoSync.
enum class FiberSwitch : std::uint8_t { kSync, kNoSync };
[[nodiscard]] ThreadState* on_fiber_created(ThreadState& self, Address code);
void on_fiber_destroyed(ThreadState& self, ThreadState* fiber, Address code);
void on_fiber_switch(ThreadState& self, ThreadState* fiber, FiberSwitch order, Address code);
void on_fiber_named(ThreadState* fiber, const char* name);

// The calls open now, and back to that point (setjmp, longjmp, exceptions).
[[nodiscard]] inline Frame* open_calls() { return current.top; }
inline void unwind_calls(Frame* to) {
  current.top = to;
  if (follows_calls) [[unlikely]]
    follow_call();
}

}  // namespace deadheat::runtime
