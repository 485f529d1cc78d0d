// SPDX-License-Identifier: Apache-2.0
// Read-write locks. A reader's release orders later writers only; which mode an
// unlock ends is known to on_sync.h, as POSIX has one unlock for both.
#include <pthread.h>

#include "runtime/intercept/lock_results.h"

using namespace deadheat::runtime;
using deadheat::LockAttempt;
using deadheat::LockMode;

DEADHEAT_REPLACE(int, pthread_rwlock_init, pthread_rwlock_t* lock, const pthread_rwlockattr_t* attributes) {
  DEADHEAT_ORIGINAL(pthread_rwlock_init);
  return lock_created(original(lock, attributes), lock, DEADHEAT_CALLER);
}

DEADHEAT_REPLACE(int, pthread_rwlock_destroy, pthread_rwlock_t* lock) {
  DEADHEAT_ORIGINAL(pthread_rwlock_destroy);
  return lock_destroyed(original(lock), lock, DEADHEAT_CALLER);
}

DEADHEAT_REPLACE(int, pthread_rwlock_rdlock, pthread_rwlock_t* lock) {
  DEADHEAT_ORIGINAL(pthread_rwlock_rdlock);
  return acquire_lock(lock, LockMode::kShared, LockAttempt::kBlocking, DEADHEAT_CALLER, [&] { return original(lock); });
}

DEADHEAT_REPLACE(int, pthread_rwlock_tryrdlock, pthread_rwlock_t* lock) {
  DEADHEAT_ORIGINAL(pthread_rwlock_tryrdlock);
  return acquire_lock(lock, LockMode::kShared, LockAttempt::kTry, DEADHEAT_CALLER, [&] { return original(lock); });
}

DEADHEAT_REPLACE(int, pthread_rwlock_timedrdlock, pthread_rwlock_t* lock, const timespec* deadline) {
  DEADHEAT_ORIGINAL(pthread_rwlock_timedrdlock);
  return acquire_lock(
      lock, LockMode::kShared, LockAttempt::kBlocking, DEADHEAT_CALLER, [&] { return original(lock, deadline); },
      TimeLimit::kSome);
}

DEADHEAT_REPLACE(int, pthread_rwlock_clockrdlock, pthread_rwlock_t* lock, clockid_t clock, const timespec* deadline) {
  DEADHEAT_ORIGINAL(pthread_rwlock_clockrdlock);
  return acquire_lock(
      lock, LockMode::kShared, LockAttempt::kBlocking, DEADHEAT_CALLER, [&] { return original(lock, clock, deadline); },
      TimeLimit::kSome);
}

DEADHEAT_REPLACE(int, pthread_rwlock_wrlock, pthread_rwlock_t* lock) {
  DEADHEAT_ORIGINAL(pthread_rwlock_wrlock);
  return acquire_lock(lock, LockMode::kExclusive, LockAttempt::kBlocking, DEADHEAT_CALLER,
                      [&] { return original(lock); });
}

DEADHEAT_REPLACE(int, pthread_rwlock_trywrlock, pthread_rwlock_t* lock) {
  DEADHEAT_ORIGINAL(pthread_rwlock_trywrlock);
  return acquire_lock(lock, LockMode::kExclusive, LockAttempt::kTry, DEADHEAT_CALLER, [&] { return original(lock); });
}

DEADHEAT_REPLACE(int, pthread_rwlock_timedwrlock, pthread_rwlock_t* lock, const timespec* deadline) {
  DEADHEAT_ORIGINAL(pthread_rwlock_timedwrlock);
  return acquire_lock(
      lock, LockMode::kExclusive, LockAttempt::kBlocking, DEADHEAT_CALLER, [&] { return original(lock, deadline); },
      TimeLimit::kSome);
}

DEADHEAT_REPLACE(int, pthread_rwlock_clockwrlock, pthread_rwlock_t* lock, clockid_t clock, const timespec* deadline) {
  DEADHEAT_ORIGINAL(pthread_rwlock_clockwrlock);
  return acquire_lock(
      lock, LockMode::kExclusive, LockAttempt::kBlocking, DEADHEAT_CALLER,
      [&] { return original(lock, clock, deadline); }, TimeLimit::kSome);
}

DEADHEAT_REPLACE(int, pthread_rwlock_unlock, pthread_rwlock_t* lock) {
  DEADHEAT_ORIGINAL(pthread_rwlock_unlock);
  return release_lock(lock, DEADHEAT_CALLER, [&] { return original(lock); });
}
