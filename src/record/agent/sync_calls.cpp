// SPDX-License-Identifier: Apache-2.0
// Calls of synchronisation. What each means for the order of threads: model/event.h. Whether a
// lock is recursive, and how an rwlock that is given up was held, is worked out offline. Of mutexes only what is handed
// on from thread to thread is logged: lock_notes.h. That one is destroyed is not: the same address later is the same
// object, which orders more, never less.
#include <pthread.h>
#include <semaphore.h>
#include <threads.h>

#include <cerrno>
#include <ctime>

#include "base/replaced_functions.h"
#include "record/agent/lock_notes.h"
#include "record/agent/log.h"

namespace deadheat::record {
namespace {

constexpr LogKind kAcquire = log_kind(EventKind::kLockAcquire);
constexpr LogKind kRelease = log_kind(EventKind::kLockRelease);
constexpr std::uint8_t kExclusive = lock_detail(LockMode::kExclusive);
constexpr std::uint8_t kExclusiveTry = lock_detail(LockMode::kExclusive, LockAttempt::kTry);
constexpr std::uint8_t kShared = lock_detail(LockMode::kShared);
constexpr std::uint8_t kSharedTry = lock_detail(LockMode::kShared, LockAttempt::kTry);

// The owner of a robust mutex died: it is held all the same.
bool holds(int result) { return result == 0 || result == EOWNERDEAD; }

// The mutexes of C are those of POSIX.
pthread_mutex_t* posix(pthread_mutex_t* mutex) { return mutex; }
pthread_mutex_t* posix(mtx_t* mutex) { return reinterpret_cast<pthread_mutex_t*>(mutex); }
static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t));

struct Wait {
  pthread_mutex_t* mutex;
  const void* condition;
  const void* code;
};
void end_wait(void* wait) {
  const Wait& ended = *static_cast<Wait*>(wait);
  on_wait_end(ended.mutex, ended.condition, ended.code);
}

}  // namespace
}  // namespace deadheat::record

using namespace deadheat;
using namespace deadheat::record;

#define DEADHEAT_UNWRAP(...) __VA_ARGS__
#define DEADHEAT_LOCKS_MUTEX(name, parameters, arguments, detail)          \
  DEADHEAT_REPLACE(int, name, DEADHEAT_UNWRAP parameters) {                \
    DEADHEAT_ORIGINAL(name);                                               \
    const int result = original arguments;                                 \
    if (holds(result)) on_acquired(posix(mutex), DEADHEAT_CALLER, detail); \
    return result;                                                         \
  }
#define DEADHEAT_UNLOCKS_MUTEX(name, parameters, arguments) \
  DEADHEAT_REPLACE(int, name, DEADHEAT_UNWRAP parameters) { \
    DEADHEAT_ORIGINAL(name);                                \
    on_release(posix(mutex), DEADHEAT_CALLER);              \
    return original arguments;                              \
  }
// All of them return int; `object` is the lock.
#define DEADHEAT_ACQUIRES(name, parameters, arguments, object, detail)                     \
  DEADHEAT_REPLACE(int, name, DEADHEAT_UNWRAP parameters) {                                \
    DEADHEAT_ORIGINAL(name);                                                               \
    const int result = original arguments;                                                 \
    if (holds(result)) log_after(kAcquire, number_of(object), 0, DEADHEAT_CALLER, detail); \
    return result;                                                                         \
  }
#define DEADHEAT_RELEASES(name, parameters, arguments, object, detail)   \
  DEADHEAT_REPLACE(int, name, DEADHEAT_UNWRAP parameters) {              \
    DEADHEAT_ORIGINAL(name);                                             \
    log_before(kRelease, number_of(object), 0, DEADHEAT_CALLER, detail); \
    return original arguments;                                           \
  }
#define DEADHEAT_BEFORE(name, parameters, arguments, object, kind)                \
  DEADHEAT_REPLACE(int, name, DEADHEAT_UNWRAP parameters) {                       \
    DEADHEAT_ORIGINAL(name);                                                      \
    log_before(log_kind(EventKind::kind), number_of(object), 0, DEADHEAT_CALLER); \
    return original arguments;                                                    \
  }
#define DEADHEAT_AFTER(name, parameters, arguments, object, kind)                                 \
  DEADHEAT_REPLACE(int, name, DEADHEAT_UNWRAP parameters) {                                       \
    DEADHEAT_ORIGINAL(name);                                                                      \
    const int result = original arguments;                                                        \
    if (result == 0) log_after(log_kind(EventKind::kind), number_of(object), 0, DEADHEAT_CALLER); \
    return result;                                                                                \
  }
// Whatever the wait returns, the mutex was given up and is held again; also when it does not return, because the thread
// is cancelled, and its cleanup handlers go on with the mutex.
#define DEADHEAT_WAITS(name, parameters, arguments)         \
  DEADHEAT_REPLACE(int, name, DEADHEAT_UNWRAP parameters) { \
    DEADHEAT_ORIGINAL(name);                                \
    Wait wait{posix(mutex), condition, DEADHEAT_CALLER};    \
    on_wait_begin(wait.mutex, wait.condition, wait.code);   \
    int result = 0;                                         \
    pthread_cleanup_push(end_wait, &wait);                  \
    result = original arguments;                            \
    pthread_cleanup_pop(1);                                 \
    return result;                                          \
  }

// clang-format off
DEADHEAT_LOCKS_MUTEX(pthread_mutex_lock, (pthread_mutex_t* mutex), (mutex), kExclusive)
DEADHEAT_LOCKS_MUTEX(pthread_mutex_trylock, (pthread_mutex_t* mutex), (mutex), kExclusiveTry)
DEADHEAT_LOCKS_MUTEX(pthread_mutex_timedlock, (pthread_mutex_t* mutex, const timespec* until), (mutex, until), kExclusiveTry)
DEADHEAT_LOCKS_MUTEX(pthread_mutex_clocklock, (pthread_mutex_t* mutex, clockid_t clock, const timespec* until), (mutex, clock, until), kExclusiveTry)
DEADHEAT_UNLOCKS_MUTEX(pthread_mutex_unlock, (pthread_mutex_t* mutex), (mutex))

DEADHEAT_ACQUIRES(pthread_rwlock_rdlock, (pthread_rwlock_t* lock), (lock), lock, kShared)
DEADHEAT_ACQUIRES(pthread_rwlock_wrlock, (pthread_rwlock_t* lock), (lock), lock, kExclusive)
DEADHEAT_ACQUIRES(pthread_rwlock_tryrdlock, (pthread_rwlock_t* lock), (lock), lock, kSharedTry)
DEADHEAT_ACQUIRES(pthread_rwlock_trywrlock, (pthread_rwlock_t* lock), (lock), lock, kExclusiveTry)
DEADHEAT_ACQUIRES(pthread_rwlock_timedrdlock, (pthread_rwlock_t* lock, const timespec* until), (lock, until), lock, kSharedTry)
DEADHEAT_ACQUIRES(pthread_rwlock_timedwrlock, (pthread_rwlock_t* lock, const timespec* until), (lock, until), lock, kExclusiveTry)
DEADHEAT_ACQUIRES(pthread_rwlock_clockrdlock, (pthread_rwlock_t* lock, clockid_t clock, const timespec* until), (lock, clock, until), lock, kSharedTry)
DEADHEAT_ACQUIRES(pthread_rwlock_clockwrlock, (pthread_rwlock_t* lock, clockid_t clock, const timespec* until), (lock, clock, until), lock, kExclusiveTry)
DEADHEAT_RELEASES(pthread_rwlock_unlock, (pthread_rwlock_t* lock), (lock), lock, kExclusive)

DEADHEAT_ACQUIRES(pthread_spin_lock, (pthread_spinlock_t* lock), (lock), lock, kExclusive)
DEADHEAT_ACQUIRES(pthread_spin_trylock, (pthread_spinlock_t* lock), (lock), lock, kExclusiveTry)
DEADHEAT_RELEASES(pthread_spin_unlock, (pthread_spinlock_t* lock), (lock), lock, kExclusive)

DEADHEAT_WAITS(pthread_cond_wait, (pthread_cond_t* condition, pthread_mutex_t* mutex), (condition, mutex))
DEADHEAT_WAITS(pthread_cond_timedwait, (pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* until), (condition, mutex, until))
DEADHEAT_WAITS(pthread_cond_clockwait, (pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const timespec* until), (condition, mutex, clock, until))

DEADHEAT_AFTER(sem_wait, (sem_t* semaphore), (semaphore), semaphore, kSemaphoreWait)
DEADHEAT_AFTER(sem_trywait, (sem_t* semaphore), (semaphore), semaphore, kSemaphoreWait)
DEADHEAT_AFTER(sem_timedwait, (sem_t* semaphore, const timespec* until), (semaphore, until), semaphore, kSemaphoreWait)
DEADHEAT_AFTER(sem_clockwait, (sem_t* semaphore, clockid_t clock, const timespec* until), (semaphore, clock, until), semaphore, kSemaphoreWait)
DEADHEAT_BEFORE(sem_post, (sem_t* semaphore), (semaphore), semaphore, kSemaphorePost)

DEADHEAT_LOCKS_MUTEX(mtx_lock, (mtx_t* mutex), (mutex), kExclusive)
DEADHEAT_LOCKS_MUTEX(mtx_trylock, (mtx_t* mutex), (mutex), kExclusiveTry)
DEADHEAT_LOCKS_MUTEX(mtx_timedlock, (mtx_t* mutex, const timespec* until), (mutex, until), kExclusiveTry)
DEADHEAT_UNLOCKS_MUTEX(mtx_unlock, (mtx_t* mutex), (mutex))
DEADHEAT_WAITS(cnd_wait, (cnd_t* condition, mtx_t* mutex), (condition, mutex))
DEADHEAT_WAITS(cnd_timedwait, (cnd_t* condition, mtx_t* mutex, const timespec* until), (condition, mutex, until))
// clang-format on

DEADHEAT_REPLACE(int, pthread_barrier_init, pthread_barrier_t* barrier, const pthread_barrierattr_t* attributes,
                 unsigned count) {
  DEADHEAT_ORIGINAL(pthread_barrier_init);
  log_before(LogKind::kBarrierInit, number_of(barrier), count, DEADHEAT_CALLER);
  return original(barrier, attributes, count);
}

DEADHEAT_REPLACE(int, pthread_barrier_wait, pthread_barrier_t* barrier) {
  DEADHEAT_ORIGINAL(pthread_barrier_wait);
  log_before(log_kind(EventKind::kBarrierArrive), number_of(barrier), 0, DEADHEAT_CALLER);
  const int result = original(barrier);
  log_after(log_kind(EventKind::kBarrierLeave), number_of(barrier), 0, DEADHEAT_CALLER);
  return result;
}

// The initialiser is wrapped: what it did is complete before anybody may rely on it. One
// initialiser may call another through a once of its own.
namespace {

struct OnceCall {
  void* once;
  void (*function)();
  OnceCall* outer;
};
thread_local constinit OnceCall* once_call __attribute__((tls_model("initial-exec"))) = nullptr;

void run_once() {
  const OnceCall call = *once_call;
  call.function();
  log_before(log_kind(EventKind::kOnceComplete), number_of(call.once), 0, nullptr);
}

}  // namespace

DEADHEAT_REPLACE(int, pthread_once, pthread_once_t* once, void (*function)()) {
  DEADHEAT_ORIGINAL(pthread_once);
  OnceCall call{once, function, once_call};
  once_call = &call;
  const int result = original(once, run_once);
  once_call = call.outer;
  log_after(log_kind(EventKind::kOnceObserve), number_of(once), 0, DEADHEAT_CALLER);
  return result;
}

DEADHEAT_REPLACE(void, call_once, once_flag* once, void (*function)()) {
  DEADHEAT_ORIGINAL(call_once);
  OnceCall call{once, function, once_call};
  once_call = &call;
  original(once, run_once);
  once_call = call.outer;
  log_after(log_kind(EventKind::kOnceObserve), number_of(once), 0, DEADHEAT_CALLER);
}

// Static local variables. The library need not be there: then nobody calls these.
DEADHEAT_REPLACE(void, __cxa_guard_release, void* guard) {
  DEADHEAT_ORIGINAL(__cxa_guard_release);
  log_before(LogKind::kGuard, number_of(guard), 0, DEADHEAT_CALLER);
  original(guard);
}
