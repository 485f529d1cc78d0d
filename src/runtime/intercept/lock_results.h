// SPDX-License-Identifier: Apache-2.0
// What the result of a real locking function means, for every family of locks.
#pragma once

#include <cerrno>

#include "model/event.h"
#include "runtime/intercept/relatives.h"
#include "runtime/intercept/replace.h"
#include "runtime/intercept/scheduled.h"
#include "runtime/on_sync.h"
#include "runtime/scheduling.h"
#include "runtime/unseen_locks.h"

namespace deadheat::runtime {

// EOWNERDEAD: a robust mutex was acquired from an owner that died.
[[nodiscard]] inline bool is_acquired(int result) { return result == 0 || result == EOWNERDEAD; }

// Of a blocking attempt.
enum class TimeLimit : std::uint8_t { kNone, kSome };

[[gnu::noinline]] inline int report_attempt(int result, Address lock, LockMode mode, LockAttempt attempt,
                                            Address code) {
  if (is_acquired(result)) {
    take_from_sharers(lock, code);
    on_lock_acquired(self(), lock, mode, attempt, code);
  } else if (attempt == LockAttempt::kTry && result == EBUSY) {
    on_lock_try_failed(self(), lock, mode, code);
  }
  return result;
}

[[gnu::noinline]] inline int report_release_failed(int result, Address lock, Address code) {
  on_lock_release_failed(self(), lock, code);
  return result;
}

// Runs the real function and reports what came of it. A timed attempt blocks; a
// deadline that passes leaves no trace.
template <class RealLock>
inline int acquire_lock(const volatile void* lock, LockMode mode, LockAttempt attempt, Address code, RealLock real_lock,
                        TimeLimit limit = TimeLimit::kNone) {
  if (takes_locks_unseen()) {
    const int result = real_lock();
    if (result != 0 || !hold_unseen(address_of(lock), mode)) [[unlikely]]
      return report_attempt(result, address_of(lock), mode, attempt, code);
    note_progress();
    return 0;
  }
  if (!is_observing()) return real_lock();
  const bool may_be_held_up = is_scheduled && limit == TimeLimit::kNone;
  if (may_be_held_up) [[unlikely]]
    schedule_request(self(), address_of(lock), mode, attempt, code);
  // Who waits for a time is not held up, but others are not to wait for it meanwhile.
  const int result = limit == TimeLimit::kSome ? wait_for_others(real_lock) : real_lock();
  if (may_be_held_up && !is_acquired(result)) [[unlikely]]
    schedule_no_lock(self());
  return report_attempt(result, address_of(lock), mode, attempt, code);
}

// The order is left at the lock before anybody else can have it.
template <class RealUnlock>
inline int release_lock(const volatile void* lock, Address code, RealUnlock real_unlock) {
  if (takes_locks_unseen() && drop_unseen(address_of(lock))) {
    const int result = real_unlock();
    if (result == 0) [[likely]]
      return 0;
    current.state->owner_before = thread_number(*current.state);
    return report_release_failed(result, address_of(lock), code);
  }
  if (!is_observing()) return real_unlock();
  give_to_sharers(address_of(lock), code);
  on_lock_releasing(self(), address_of(lock), code);
  const int result = real_unlock();
  if (result != 0) report_release_failed(result, address_of(lock), code);
  if (is_scheduled) [[unlikely]]
    schedule_point(self());
  return result;
}

inline int lock_created(int result, const volatile void* lock, Address code) {
  if (result == 0 && is_observing()) on_lock_created(self(), address_of(lock), code);
  return result;
}

inline int lock_destroyed(int result, const volatile void* lock, Address code) {
  if (result == 0 && is_observing()) on_lock_destroyed(self(), address_of(lock), code);
  return result;
}

}  // namespace deadheat::runtime
