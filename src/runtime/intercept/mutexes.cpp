// SPDX-License-Identifier: Apache-2.0
// Mutexes of POSIX and C11, and spin locks.
//
// A mutex needs no initialisation that we would see: statically initialised ones
// begin with their first use. Recursion and ownership are known to on_sync.h.
// The C11 functions are intercepted on their own as libc implements them by
// internal names; their results are translated to those of POSIX first.
//
// pthread_mutex_consistent orders nothing: the caller holds the mutex already.
#include <pthread.h>
#include <threads.h>

#include "runtime/intercept/lock_results.h"

using namespace deadheat::runtime;
using deadheat::LockAttempt;
using deadheat::LockMode;

DEADHEAT_REPLACE(int, pthread_mutex_init, pthread_mutex_t* mutex, const pthread_mutexattr_t* attributes) {
  DEADHEAT_ORIGINAL(pthread_mutex_init);
  return lock_created(original(mutex, attributes), mutex, DEADHEAT_CALLER);
}

DEADHEAT_REPLACE(int, pthread_mutex_destroy, pthread_mutex_t* mutex) {
  DEADHEAT_ORIGINAL(pthread_mutex_destroy);
  return lock_destroyed(original(mutex), mutex, DEADHEAT_CALLER);
}

DEADHEAT_REPLACE(int, pthread_mutex_lock, pthread_mutex_t* mutex) {
  DEADHEAT_ORIGINAL(pthread_mutex_lock);
  return acquire_lock(mutex, LockMode::kExclusive, LockAttempt::kBlocking, DEADHEAT_CALLER,
                      [&] { return original(mutex); });
}

DEADHEAT_REPLACE(int, pthread_mutex_trylock, pthread_mutex_t* mutex) {
  DEADHEAT_ORIGINAL(pthread_mutex_trylock);
  return acquire_lock(mutex, LockMode::kExclusive, LockAttempt::kTry, DEADHEAT_CALLER, [&] { return original(mutex); });
}

DEADHEAT_REPLACE(int, pthread_mutex_timedlock, pthread_mutex_t* mutex, const timespec* deadline) {
  DEADHEAT_ORIGINAL(pthread_mutex_timedlock);
  return acquire_lock(
      mutex, LockMode::kExclusive, LockAttempt::kBlocking, DEADHEAT_CALLER, [&] { return original(mutex, deadline); },
      TimeLimit::kSome);
}

DEADHEAT_REPLACE(int, pthread_mutex_clocklock, pthread_mutex_t* mutex, clockid_t clock, const timespec* deadline) {
  DEADHEAT_ORIGINAL(pthread_mutex_clocklock);
  return acquire_lock(
      mutex, LockMode::kExclusive, LockAttempt::kBlocking, DEADHEAT_CALLER,
      [&] { return original(mutex, clock, deadline); }, TimeLimit::kSome);
}

DEADHEAT_REPLACE(int, pthread_mutex_unlock, pthread_mutex_t* mutex) {
  DEADHEAT_ORIGINAL(pthread_mutex_unlock);
  return release_lock(mutex, DEADHEAT_CALLER, [&] { return original(mutex); });
}

DEADHEAT_REPLACE(int, pthread_spin_init, pthread_spinlock_t* lock, int sharing) {
  DEADHEAT_ORIGINAL(pthread_spin_init);
  return lock_created(original(lock, sharing), lock, DEADHEAT_CALLER);
}

DEADHEAT_REPLACE(int, pthread_spin_destroy, pthread_spinlock_t* lock) {
  DEADHEAT_ORIGINAL(pthread_spin_destroy);
  return lock_destroyed(original(lock), lock, DEADHEAT_CALLER);
}

DEADHEAT_REPLACE(int, pthread_spin_lock, pthread_spinlock_t* lock) {
  DEADHEAT_ORIGINAL(pthread_spin_lock);
  return acquire_lock(lock, LockMode::kExclusive, LockAttempt::kBlocking, DEADHEAT_CALLER,
                      [&] { return original(lock); });
}

DEADHEAT_REPLACE(int, pthread_spin_trylock, pthread_spinlock_t* lock) {
  DEADHEAT_ORIGINAL(pthread_spin_trylock);
  return acquire_lock(lock, LockMode::kExclusive, LockAttempt::kTry, DEADHEAT_CALLER, [&] { return original(lock); });
}

DEADHEAT_REPLACE(int, pthread_spin_unlock, pthread_spinlock_t* lock) {
  DEADHEAT_ORIGINAL(pthread_spin_unlock);
  return release_lock(lock, DEADHEAT_CALLER, [&] { return original(lock); });
}

namespace {

int to_c11(int result) {
  switch (result) {
    case 0:
      return thrd_success;
    case EBUSY:
      return thrd_busy;
    case ETIMEDOUT:
      return thrd_timedout;
    case ENOMEM:
      return thrd_nomem;
    default:
      return thrd_error;
  }
}

int to_posix(int result) {
  switch (result) {
    case thrd_success:
      return 0;
    case thrd_busy:
      return EBUSY;
    case thrd_timedout:
      return ETIMEDOUT;
    case thrd_nomem:
      return ENOMEM;
    default:
      return EINVAL;
  }
}

}  // namespace

DEADHEAT_REPLACE(int, mtx_init, mtx_t* mutex, int type) {
  DEADHEAT_ORIGINAL(mtx_init);
  return to_c11(lock_created(to_posix(original(mutex, type)), mutex, DEADHEAT_CALLER));
}

DEADHEAT_REPLACE(void, mtx_destroy, mtx_t* mutex) {
  DEADHEAT_ORIGINAL(mtx_destroy);
  original(mutex);
  lock_destroyed(0, mutex, DEADHEAT_CALLER);
}

DEADHEAT_REPLACE(int, mtx_lock, mtx_t* mutex) {
  DEADHEAT_ORIGINAL(mtx_lock);
  return to_c11(acquire_lock(mutex, LockMode::kExclusive, LockAttempt::kBlocking, DEADHEAT_CALLER,
                             [&] { return to_posix(original(mutex)); }));
}

DEADHEAT_REPLACE(int, mtx_trylock, mtx_t* mutex) {
  DEADHEAT_ORIGINAL(mtx_trylock);
  return to_c11(acquire_lock(mutex, LockMode::kExclusive, LockAttempt::kTry, DEADHEAT_CALLER,
                             [&] { return to_posix(original(mutex)); }));
}

DEADHEAT_REPLACE(int, mtx_timedlock, mtx_t* mutex, const timespec* deadline) {
  DEADHEAT_ORIGINAL(mtx_timedlock);
  return to_c11(acquire_lock(
      mutex, LockMode::kExclusive, LockAttempt::kBlocking, DEADHEAT_CALLER,
      [&] { return to_posix(original(mutex, deadline)); }, TimeLimit::kSome));
}

DEADHEAT_REPLACE(int, mtx_unlock, mtx_t* mutex) {
  DEADHEAT_ORIGINAL(mtx_unlock);
  return to_c11(release_lock(mutex, DEADHEAT_CALLER, [&] { return to_posix(original(mutex)); }));
}
