// SPDX-License-Identifier: Apache-2.0
// Locks that a thread takes and gives up while nothing is recorded (unchecked_code.h).
//
// A program that does nothing but take locks does hardly anything else here, and what is done
// between taking a lock and giving it up others wait for. So these are a few instructions: the
// lock is put on a short list of the thread's, and taken off again. All that is rare is left to
// on_sync.h: a list that is full, locks that are not given up in the reverse order, unlocking
// that fails. When a period opens, or anybody asks, the list moves to ThreadState::held, and a
// lock that is on it more than once is held recursively.
//
// A signal handler may come at any time. It gives up what it has taken, and so leaves the list
// as long as it was: an element is written after it has become part of the list.
#pragma once

#include <cstdint>

#include "model/event.h"
#include "model/identity.h"
#include "runtime/sampling.h"
#include "runtime/scheduling.h"
#include "runtime/thread_registry.h"

namespace deadheat::runtime {

// Nobody needs to know of what the thread does to locks. Who acquires asks again afterwards:
// see unchecked_code.h.
[[nodiscard, gnu::always_inline]] inline bool takes_locks_unseen() {
  return peek(current.runs_unchecked) != 0 && current.inside == 0 && !is_scheduled;
}

// The current thread has taken the lock. False: it must be told, by on_lock_acquired().
[[nodiscard, gnu::always_inline]] inline bool hold_unseen(Address lock, LockMode mode) {
  if (peek(current.runs_unchecked) == 0) [[unlikely]]
    return false;
  UnseenLocks& own = current.state->unseen_locks;
  const std::uint32_t count = own.count;
  if (count == UnseenLocks::kMost) [[unlikely]]
    return false;
  own.count = count + 1;
  __asm__ volatile("" ::: "memory");  // a handler
  own.locks[count] = lock | (mode == LockMode::kShared ? UnseenLocks::kShared : 0);
  return true;
}

// The current thread, which takes locks unseen, is about to give this one up. False: it must be
// told, by on_lock_releasing().
[[nodiscard, gnu::always_inline]] inline bool drop_unseen(Address lock) {
  UnseenLocks& own = current.state->unseen_locks;
  const std::uint32_t count = own.count;
  if (count == 0 || (own.locks[count - 1] & ~UnseenLocks::kShared) != lock) [[unlikely]]
    return false;
  own.count = count - 1;
  return true;
}

}  // namespace deadheat::runtime
