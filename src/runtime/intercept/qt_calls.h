// SPDX-License-Identifier: Apache-2.0
// The order that Qt 5 and 6 make inside themselves: locks, semaphores, conditions, futures.
//
// The fast ways of QMutex are atomics in headers, which are seen; what the library does is to take and release
// the mutex's word when there is a dispute. So that word hands on the order here, too.
// A thread that ends wakes who waits for it by a condition of libpthread's, also where nobody
// waits yet; conditions.cpp gives that to all.
//
// Not known: events and queued signals, runnables of QThreadPool.
//
// Included once for each version, with QT_LIBRARY defined: the names are the same.
#pragma once

#include "runtime/intercept/conditions.h"
#include "runtime/intercept/foreign_calls.h"

extern "C" std::uint64_t __tsan_atomic64_fetch_or(volatile std::uint64_t* at, std::uint64_t value, int order);

namespace deadheat::runtime {
namespace {

void took(std::uint64_t mutex) {
  __tsan_atomic64_fetch_or(reinterpret_cast<std::uint64_t*>(mutex), 0, __ATOMIC_ACQUIRE);
}
void gives_up(std::uint64_t mutex) {
  __tsan_atomic64_fetch_or(reinterpret_cast<std::uint64_t*>(mutex), 0, __ATOMIC_RELEASE);
}

}  // namespace
}  // namespace deadheat::runtime

using namespace deadheat;
using namespace deadheat::runtime;

#define QT(name, before, after) DEADHEAT_FOREIGN(QT_LIBRARY, name, before, after)

QT(_ZN11QBasicMutex12lockInternalEv, , took(a))
QT(_ZN11QBasicMutex12lockInternalEi, , if (is_true(result)) took(a))
QT(_ZN11QBasicMutex14unlockInternalEv, gives_up(a), )
QT(_ZN6QMutex4lockEv, , took(a))
QT(_ZN6QMutex7tryLockEi, , if (is_true(result)) took(a))
QT(_ZN6QMutex6unlockEv, gives_up(a), )
QT(_ZN15QRecursiveMutex7tryLockEi, , order.try_lock(a, is_true(result)))
QT(_ZN15QRecursiveMutex6unlockEv, order.unlock(a), )
QT(_ZN10QSemaphore7acquireEi, , order.take(a))
QT(_ZN10QSemaphore10tryAcquireEi, , order.take(is_true(result) ? a : 0))
QT(_ZN10QSemaphore10tryAcquireEii, , order.take(is_true(result) ? a : 0))
QT(_ZN10QSemaphore7releaseEi, order.give(a), )
QT(_ZN14QReadWriteLock12lockForWriteEv, , order.lock(a))
QT(_ZN14QReadWriteLock15tryLockForWriteEv, , order.try_lock(a, is_true(result)))
QT(_ZN14QReadWriteLock15tryLockForWriteEi, , order.try_lock(a, is_true(result)))
QT(_ZN14QReadWriteLock11lockForReadEv, , order.lock_shared(a))
QT(_ZN14QReadWriteLock14tryLockForReadEv, , order.try_lock_shared(a, is_true(result)))
QT(_ZN14QReadWriteLock14tryLockForReadEi, , order.try_lock_shared(a, is_true(result)))
QT(_ZN14QReadWriteLock6unlockEv, order.unlock(a), )
QT(_ZN14QWaitCondition4waitEP6QMutexm, gives_up(b), took(b))
QT(_ZN14QWaitCondition4waitEP6QMutex14QDeadlineTimer, gives_up(b), took(b))
QT(_ZN14QWaitCondition4waitEP14QReadWriteLockm, order.unlock(b), order.lock(b))
QT(_ZN14QWaitCondition4waitEP14QReadWriteLock14QDeadlineTimer, order.unlock(b), order.lock(b))
QT(_ZN7QThread4waitEm, , if (is_true(result)) order.take(foreign_broadcasts()))
QT(_ZN7QThread4waitE14QDeadlineTimer, , if (is_true(result)) order.take(foreign_broadcasts()))
QT(_ZNK7QThread10isFinishedEv, , if (is_true(result)) order.take(foreign_broadcasts()))
QT(_ZN11QThreadPool11waitForDoneEi, , if (is_true(result)) order.take(foreign_broadcasts()))
