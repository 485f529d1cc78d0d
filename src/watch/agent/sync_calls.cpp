// SPDX-License-Identifier: Apache-2.0
// Calls of synchronisation: the thread's clock ticks before each. Who unlocks first and ticks later would be taken
// for someone who had not synchronised, by a thread that locks in between.
//
// The original is called last, by a jump: a thread that waits in it for hours has nothing of the agent on its stack,
// which can be withdrawn meanwhile (attach/inject.h checks).
#include <pthread.h>
#include <semaphore.h>
#include <threads.h>

#include <ctime>

#include "base/replaced_functions.h"
#include "watch/agent/threads.h"

// DEADHEAT_SYNC(name, (parameters), (arguments)): all of them return int.
#define DEADHEAT_UNWRAP(...) __VA_ARGS__
#define DEADHEAT_SYNC(name, parameters, arguments)          \
  DEADHEAT_REPLACE(int, name, DEADHEAT_UNWRAP parameters) { \
    DEADHEAT_ORIGINAL(name);                                \
    deadheat::watch::tick_clock();                          \
    return original arguments;                              \
  }

// clang-format off
DEADHEAT_SYNC(pthread_mutex_lock, (pthread_mutex_t* mutex), (mutex))
DEADHEAT_SYNC(pthread_mutex_trylock, (pthread_mutex_t* mutex), (mutex))
DEADHEAT_SYNC(pthread_mutex_timedlock, (pthread_mutex_t* mutex, const timespec* until), (mutex, until))
DEADHEAT_SYNC(pthread_mutex_clocklock, (pthread_mutex_t* mutex, clockid_t clock, const timespec* until), (mutex, clock, until))
DEADHEAT_SYNC(pthread_mutex_unlock, (pthread_mutex_t* mutex), (mutex))

DEADHEAT_SYNC(pthread_rwlock_rdlock, (pthread_rwlock_t* lock), (lock))
DEADHEAT_SYNC(pthread_rwlock_wrlock, (pthread_rwlock_t* lock), (lock))
DEADHEAT_SYNC(pthread_rwlock_tryrdlock, (pthread_rwlock_t* lock), (lock))
DEADHEAT_SYNC(pthread_rwlock_trywrlock, (pthread_rwlock_t* lock), (lock))
DEADHEAT_SYNC(pthread_rwlock_timedrdlock, (pthread_rwlock_t* lock, const timespec* until), (lock, until))
DEADHEAT_SYNC(pthread_rwlock_timedwrlock, (pthread_rwlock_t* lock, const timespec* until), (lock, until))
DEADHEAT_SYNC(pthread_rwlock_clockrdlock, (pthread_rwlock_t* lock, clockid_t clock, const timespec* until), (lock, clock, until))
DEADHEAT_SYNC(pthread_rwlock_clockwrlock, (pthread_rwlock_t* lock, clockid_t clock, const timespec* until), (lock, clock, until))
DEADHEAT_SYNC(pthread_rwlock_unlock, (pthread_rwlock_t* lock), (lock))

DEADHEAT_SYNC(pthread_spin_lock, (pthread_spinlock_t* lock), (lock))
DEADHEAT_SYNC(pthread_spin_trylock, (pthread_spinlock_t* lock), (lock))
DEADHEAT_SYNC(pthread_spin_unlock, (pthread_spinlock_t* lock), (lock))

DEADHEAT_SYNC(pthread_cond_wait, (pthread_cond_t* condition, pthread_mutex_t* mutex), (condition, mutex))
DEADHEAT_SYNC(pthread_cond_timedwait, (pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* until), (condition, mutex, until))
DEADHEAT_SYNC(pthread_cond_clockwait, (pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const timespec* until), (condition, mutex, clock, until))
DEADHEAT_SYNC(pthread_cond_signal, (pthread_cond_t* condition), (condition))
DEADHEAT_SYNC(pthread_cond_broadcast, (pthread_cond_t* condition), (condition))

DEADHEAT_SYNC(pthread_barrier_wait, (pthread_barrier_t* barrier), (barrier))
DEADHEAT_SYNC(pthread_once, (pthread_once_t* once, void (*function)()), (once, function))
DEADHEAT_SYNC(pthread_join, (pthread_t thread, void** value), (thread, value))
DEADHEAT_SYNC(pthread_tryjoin_np, (pthread_t thread, void** value), (thread, value))
DEADHEAT_SYNC(pthread_timedjoin_np, (pthread_t thread, void** value, const timespec* until), (thread, value, until))
DEADHEAT_SYNC(pthread_clockjoin_np, (pthread_t thread, void** value, clockid_t clock, const timespec* until), (thread, value, clock, until))

DEADHEAT_SYNC(sem_wait, (sem_t* semaphore), (semaphore))
DEADHEAT_SYNC(sem_trywait, (sem_t* semaphore), (semaphore))
DEADHEAT_SYNC(sem_timedwait, (sem_t* semaphore, const timespec* until), (semaphore, until))
DEADHEAT_SYNC(sem_clockwait, (sem_t* semaphore, clockid_t clock, const timespec* until), (semaphore, clock, until))
DEADHEAT_SYNC(sem_post, (sem_t* semaphore), (semaphore))

DEADHEAT_SYNC(mtx_lock, (mtx_t* mutex), (mutex))
DEADHEAT_SYNC(mtx_trylock, (mtx_t* mutex), (mutex))
DEADHEAT_SYNC(mtx_timedlock, (mtx_t* mutex, const timespec* until), (mutex, until))
DEADHEAT_SYNC(mtx_unlock, (mtx_t* mutex), (mutex))
DEADHEAT_SYNC(cnd_wait, (cnd_t* condition, mtx_t* mutex), (condition, mutex))
DEADHEAT_SYNC(cnd_timedwait, (cnd_t* condition, mtx_t* mutex, const timespec* until), (condition, mutex, until))
DEADHEAT_SYNC(cnd_signal, (cnd_t* condition), (condition))
DEADHEAT_SYNC(cnd_broadcast, (cnd_t* condition), (condition))
DEADHEAT_SYNC(thrd_join, (thrd_t thread, int* value), (thread, value))
// clang-format on
