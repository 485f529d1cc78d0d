// SPDX-License-Identifier: Apache-2.0
// Described functions: attributes of threads and locks, signals, scheduling, spawning. (described.h)
//
// An attribute object is the caller's memory like any other: its functions read or write all of it.
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <spawn.h>
#include <sys/time.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <ctime>

#include "runtime/intercept/described.h"

namespace deadheat::runtime {
namespace {

constexpr std::size_t kThread = sizeof(pthread_attr_t);
constexpr std::size_t kMutex = sizeof(pthread_mutexattr_t);
constexpr std::size_t kCondition = sizeof(pthread_condattr_t);
constexpr std::size_t kReadWrite = sizeof(pthread_rwlockattr_t);
constexpr std::size_t kBarrier = sizeof(pthread_barrierattr_t);
constexpr std::size_t kActions = sizeof(posix_spawn_file_actions_t);
constexpr std::size_t kSpawn = sizeof(posix_spawnattr_t);
constexpr std::size_t kInt = sizeof(int);
constexpr std::size_t kLong = sizeof(long);
constexpr std::size_t kSignals = 8;  // as many as there are, of the 128 bytes of sigset_t

}  // namespace
}  // namespace deadheat::runtime

#define DEADHEAT_ATTRIBUTE(get, set, object, value)                 \
  DEADHEAT_DESCRIBE(get, kZero, reads(1, object), writes(2, value)) \
  DEADHEAT_DESCRIBE(set, kAlways, updates(1, object))

DEADHEAT_DESCRIBE(pthread_attr_init, kAlways, updates(1, kThread))
DEADHEAT_DESCRIBE(pthread_attr_destroy, kAlways, updates(1, kThread))
DEADHEAT_ATTRIBUTE(pthread_attr_getdetachstate, pthread_attr_setdetachstate, kThread, kInt)
DEADHEAT_ATTRIBUTE(pthread_attr_getguardsize, pthread_attr_setguardsize, kThread, kLong)
DEADHEAT_ATTRIBUTE(pthread_attr_getinheritsched, pthread_attr_setinheritsched, kThread, kInt)
DEADHEAT_ATTRIBUTE(pthread_attr_getschedpolicy, pthread_attr_setschedpolicy, kThread, kInt)
DEADHEAT_ATTRIBUTE(pthread_attr_getscope, pthread_attr_setscope, kThread, kInt)
DEADHEAT_ATTRIBUTE(pthread_attr_getstackaddr, pthread_attr_setstackaddr, kThread, kLong)
DEADHEAT_ATTRIBUTE(pthread_attr_getstacksize, pthread_attr_setstacksize, kThread, kLong)
DEADHEAT_DESCRIBE(pthread_attr_getstack, kZero, reads(1, kThread), writes(2, kLong), writes(3, kLong))
DEADHEAT_DESCRIBE(pthread_attr_setstack, kAlways, updates(1, kThread))
DEADHEAT_DESCRIBE(pthread_attr_getschedparam, kZero, reads(1, kThread), writes(2, sizeof(sched_param)))
DEADHEAT_DESCRIBE(pthread_attr_setschedparam, kAlways, reads(2, sizeof(sched_param)), updates(1, kThread))
DEADHEAT_DESCRIBE(pthread_attr_getaffinity_np, kZero, reads(1, kThread), writes_bytes(3, 2))
DEADHEAT_DESCRIBE(pthread_attr_setaffinity_np, kAlways, reads_bytes(3, 2), updates(1, kThread))
DEADHEAT_DESCRIBE(pthread_attr_getsigmask_np, kAlways, reads(1, kThread), updates(2, kSignals))
DEADHEAT_DESCRIBE(pthread_attr_setsigmask_np, kAlways, reads(2, kSignals), updates(1, kThread))
DEADHEAT_DESCRIBE(pthread_getattr_np, kZero, writes(2, kThread))
DEADHEAT_DESCRIBE(pthread_getattr_default_np, kZero, writes(1, kThread))
DEADHEAT_DESCRIBE(pthread_setattr_default_np, kAlways, reads(1, kThread))

DEADHEAT_DESCRIBE(pthread_mutexattr_init, kAlways, updates(1, kMutex))
DEADHEAT_DESCRIBE(pthread_mutexattr_destroy, kAlways, updates(1, kMutex))
DEADHEAT_ATTRIBUTE(pthread_mutexattr_getprioceiling, pthread_mutexattr_setprioceiling, kMutex, kInt)
DEADHEAT_ATTRIBUTE(pthread_mutexattr_getprotocol, pthread_mutexattr_setprotocol, kMutex, kInt)
DEADHEAT_ATTRIBUTE(pthread_mutexattr_getpshared, pthread_mutexattr_setpshared, kMutex, kInt)
DEADHEAT_ATTRIBUTE(pthread_mutexattr_getrobust, pthread_mutexattr_setrobust, kMutex, kInt)
DEADHEAT_ATTRIBUTE(pthread_mutexattr_gettype, pthread_mutexattr_settype, kMutex, kInt)
DEADHEAT_DESCRIBE(pthread_mutex_getprioceiling, kZero, writes(2, kInt))
DEADHEAT_DESCRIBE(pthread_mutex_setprioceiling, kZero, writes(3, kInt))
DEADHEAT_DESCRIBE(pthread_condattr_init, kAlways, updates(1, kCondition))
DEADHEAT_DESCRIBE(pthread_condattr_destroy, kAlways, updates(1, kCondition))
DEADHEAT_ATTRIBUTE(pthread_condattr_getclock, pthread_condattr_setclock, kCondition, kInt)
DEADHEAT_ATTRIBUTE(pthread_condattr_getpshared, pthread_condattr_setpshared, kCondition, kInt)
DEADHEAT_DESCRIBE(pthread_rwlockattr_init, kAlways, updates(1, kReadWrite))
DEADHEAT_DESCRIBE(pthread_rwlockattr_destroy, kAlways, updates(1, kReadWrite))
DEADHEAT_ATTRIBUTE(pthread_rwlockattr_getkind_np, pthread_rwlockattr_setkind_np, kReadWrite, kInt)
DEADHEAT_ATTRIBUTE(pthread_rwlockattr_getpshared, pthread_rwlockattr_setpshared, kReadWrite, kInt)
DEADHEAT_DESCRIBE(pthread_barrierattr_init, kAlways, updates(1, kBarrier))
DEADHEAT_DESCRIBE(pthread_barrierattr_destroy, kAlways, updates(1, kBarrier))
DEADHEAT_ATTRIBUTE(pthread_barrierattr_getpshared, pthread_barrierattr_setpshared, kBarrier, kInt)

DEADHEAT_DESCRIBE(pthread_getaffinity_np, kZero, writes_bytes(3, 2))
DEADHEAT_DESCRIBE(pthread_setaffinity_np, kAlways, reads_bytes(3, 2))
DEADHEAT_DESCRIBE(pthread_getname_np, kZero, writes_text(2))
DEADHEAT_DESCRIBE(pthread_getschedparam, kZero, writes(2, kInt), writes(3, sizeof(sched_param)))
DEADHEAT_DESCRIBE(pthread_setschedparam, kAlways, reads(3, sizeof(sched_param)))
DEADHEAT_DESCRIBE(pthread_key_create, kZero, writes(1, sizeof(pthread_key_t)))
DEADHEAT_DESCRIBE(__pthread_key_create, kZero, writes(1, sizeof(pthread_key_t)))
DEADHEAT_DESCRIBE(tss_create, kZero, writes(1, sizeof(pthread_key_t)))
DEADHEAT_DESCRIBE(sem_getvalue, kZero, writes(2, kInt))

DEADHEAT_DESCRIBE(sched_getaffinity, kNotNegative, writes_bytes(3, 2))
DEADHEAT_DESCRIBE(sched_setaffinity, kAlways, reads_bytes(3, 2))
DEADHEAT_DESCRIBE(sched_getparam, kZero, writes(2, sizeof(sched_param)))
DEADHEAT_DESCRIBE(__sched_getparam, kZero, writes(2, sizeof(sched_param)))
DEADHEAT_DESCRIBE(sched_setparam, kAlways, reads(2, sizeof(sched_param)))
DEADHEAT_DESCRIBE(sched_setscheduler, kAlways, reads(3, sizeof(sched_param)))
DEADHEAT_DESCRIBE(__sched_setscheduler, kAlways, reads(3, sizeof(sched_param)))
DEADHEAT_DESCRIBE(sched_rr_get_interval, kZero, writes(2, sizeof(timespec)))
DEADHEAT_DESCRIBE(__sched_cpucount, kAlways, reads_bytes(2, 1))

// Signals.
DEADHEAT_DESCRIBE(sigemptyset, kAlways, updates(1, kSignals))
DEADHEAT_DESCRIBE(sigfillset, kAlways, updates(1, kSignals))
DEADHEAT_DESCRIBE(sigaddset, kAlways, updates(1, kSignals))
DEADHEAT_DESCRIBE(sigdelset, kAlways, updates(1, kSignals))
DEADHEAT_DESCRIBE(sigismember, kAlways, reads(1, kSignals))
DEADHEAT_DESCRIBE(sigisemptyset, kAlways, reads(1, kSignals))
DEADHEAT_DESCRIBE(sigandset, kAlways, reads(2, kSignals), reads(3, kSignals), updates(1, kSignals))
DEADHEAT_DESCRIBE(sigorset, kAlways, reads(2, kSignals), reads(3, kSignals), updates(1, kSignals))
DEADHEAT_DESCRIBE(sigprocmask, kZero, reads(2, kSignals), writes(3, kSignals))
DEADHEAT_DESCRIBE(pthread_sigmask, kZero, reads(2, kSignals), writes(3, kSignals))
DEADHEAT_DESCRIBE(sigpending, kZero, writes(1, kSignals))
DEADHEAT_DESCRIBE(sigsuspend, kAlways, reads(1, kSignals))
DEADHEAT_DESCRIBE(sigaltstack, kZero, reads(1, sizeof(stack_t)), writes(2, sizeof(stack_t)))

// Actions and attributes that a new process is to have.
DEADHEAT_DESCRIBE(posix_spawn_file_actions_init, kAlways, updates(1, kActions))
DEADHEAT_DESCRIBE(posix_spawn_file_actions_destroy, kAlways, updates(1, kActions))
DEADHEAT_DESCRIBE(posix_spawn_file_actions_addclose, kAlways, updates(1, kActions))
DEADHEAT_DESCRIBE(posix_spawn_file_actions_addclosefrom_np, kAlways, updates(1, kActions))
DEADHEAT_DESCRIBE(posix_spawn_file_actions_adddup2, kAlways, updates(1, kActions))
DEADHEAT_DESCRIBE(posix_spawn_file_actions_addopen, kAlways, reads_text(3), updates(1, kActions))
DEADHEAT_DESCRIBE(posix_spawn_file_actions_addchdir_np, kAlways, reads_text(2), updates(1, kActions))
DEADHEAT_DESCRIBE(posix_spawn_file_actions_addfchdir_np, kAlways, updates(1, kActions))
DEADHEAT_DESCRIBE(posix_spawn_file_actions_addtcsetpgrp_np, kAlways, updates(1, kActions))
DEADHEAT_DESCRIBE(posix_spawnattr_init, kAlways, updates(1, kSpawn))
DEADHEAT_DESCRIBE(posix_spawnattr_destroy, kAlways, updates(1, kSpawn))
DEADHEAT_ATTRIBUTE(posix_spawnattr_getflags, posix_spawnattr_setflags, kSpawn, sizeof(short))
DEADHEAT_ATTRIBUTE(posix_spawnattr_getpgroup, posix_spawnattr_setpgroup, kSpawn, sizeof(pid_t))
DEADHEAT_ATTRIBUTE(posix_spawnattr_getschedpolicy, posix_spawnattr_setschedpolicy, kSpawn, kInt)
DEADHEAT_ATTRIBUTE(posix_spawnattr_getschedparam, posix_spawnattr_setschedparam, kSpawn, sizeof(sched_param))
DEADHEAT_ATTRIBUTE(posix_spawnattr_getsigdefault, posix_spawnattr_setsigdefault, kSpawn, kSignals)
DEADHEAT_ATTRIBUTE(posix_spawnattr_getsigmask, posix_spawnattr_setsigmask, kSpawn, kSignals)
DEADHEAT_ALSO(__sigsuspend, sigsuspend);
