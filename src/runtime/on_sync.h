// SPDX-License-Identifier: Apache-2.0
// What synchronisation means: called by the interceptors and the annotations.
//
// A function named after something finished ("acquired", "waited") is called
// after the real operation has succeeded, one named after something beginning
// ("releasing", "posting") before the real operation begins. `code` is the
// return address of the intercepted call. Nothing here blocks on the program's
// own locks, allocates from its heap, or fails; lack of memory loses an edge
// and is counted.
#pragma once

#include <cstdint>

#include "model/event.h"
#include "model/identity.h"
#include "runtime/thread_state.h"

namespace deadheat::runtime {

// Locks: mutexes, rwlocks, spinlocks, and what annotations call a lock. A lock
// that was never announced is created by its first use. Recursion is recognised
// here: only the outermost acquire and release order anything.
void on_lock_created(ThreadState& self, Address lock, Address code);
// Locks that the thread took while nothing was recorded: all locks that it holds are in
// ThreadState::held afterwards, and have what reports say of them.
void adopt_unseen_locks(ThreadState& self);
void name_held_locks(ThreadState& self);
void on_lock_destroyed(ThreadState& self, Address lock, Address code);
void on_lock_acquired(ThreadState& self, Address lock, LockMode mode, LockAttempt attempt, Address code);
void on_lock_try_failed(ThreadState& self, Address lock, LockMode mode, Address code);
// In the mode in which this thread holds it.
void on_lock_releasing(ThreadState& self, Address lock, Address code);
// The release failed after all (EPERM): undoes nothing of the order, but the
// lock counts as held again.
void on_lock_release_failed(ThreadState& self, Address lock, Address code);

// A wait on a condition gives up its mutex and takes it again. If the wait
// returns an error that means it never began (EINVAL), call on_wait_finished too.
void on_wait_beginning(ThreadState& self, Address condition, Address mutex, Address code);
void on_wait_finished(ThreadState& self, Address condition, Address mutex, Address code);
void on_signalling(ThreadState& self, Address condition, Address code);    // one waiter
void on_broadcasting(ThreadState& self, Address condition, Address code);  // all

// The token names the phase: hand it from arrive to leave.
struct BarrierPhase {
  std::uint64_t number = 0;
  void* clock = nullptr;
};
void on_barrier_created(ThreadState& self, Address barrier, std::uint32_t count, Address code);
[[nodiscard]] BarrierPhase on_barrier_arriving(ThreadState& self, Address barrier, Address code);
void on_barrier_left(ThreadState& self, Address barrier, BarrierPhase phase, Address code);

void on_semaphore_posting(ThreadState& self, Address semaphore, Address code);
void on_semaphore_waited(ThreadState& self, Address semaphore, Address code);

// Once flags and the guards of static locals.
void on_once_completing(ThreadState& self, Address flag, Address code);
void on_once_observed(ThreadState& self, Address flag, Address code);

// Anything else that hands on order: annotations, atexit, signals, descriptors.
void on_happens_before(ThreadState& self, Address tag, Address code);
void on_happens_after(ThreadState& self, Address tag, Address code);

// Conditions, barriers, semaphores, once flags, tags.
void on_sync_destroyed(ThreadState& self, Address object, Address code);

void on_fence(ThreadState& self, MemoryOrder order, Address code);

// Ignore regions nest and count per thread.
void on_ignore_begin(ThreadState& self, Ignore what, Address code);
void on_ignore_end(ThreadState& self, Ignore what, Address code);
void on_benign_range(ThreadState& self, Address address, std::uint64_t size, Address code);

}  // namespace deadheat::runtime
