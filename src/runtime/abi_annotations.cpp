// SPDX-License-Identifier: Apache-2.0
// Annotations: what programs tell a race detector about themselves.
//
// Three dialects lead to the same few calls of on_sync.h: Annotate* of the
// dynamic_annotations library (with file and line, which we do not need: the
// return address says more), __tsan_acquire and __tsan_mutex_* of TSan's
// interface, and our own deadheat_* behind include/deadheat/annotate.h.
//
// __tsan_mutex_*: what a mutex does inside, between pre_lock and post_lock and
// between pre_unlock and post_unlock, is its own affair: accesses and
// synchronisation there are ignored, except where the mutex calls back into
// foreign code (divert).
#include <cstddef>
#include <cstdint>

#include "runtime/intercept/interceptor.h"
#include "runtime/on_access.h"
#include "runtime/on_memory.h"
#include "runtime/on_sync.h"
#include "runtime/on_thread.h"
#include "runtime/scheduling.h"
#include "runtime/thread_registry.h"

using namespace deadheat;
using namespace deadheat::runtime;

namespace {

using File = const char*;
using Pointer = const volatile void*;

void happens_before(Pointer tag, Address code) {
  if (is_observing()) on_happens_before(self(), address_of(tag), code);
}
void happens_after(Pointer tag, Address code) {
  if (is_observing()) on_happens_after(self(), address_of(tag), code);
}
void ignore_begin(Ignore what, Address code) {
  if (is_observing()) on_ignore_begin(self(), what, code);
}
void ignore_end(Ignore what, Address code) {
  if (is_observing()) on_ignore_end(self(), what, code);
}
void lock_created(Pointer lock, Address code) {
  if (is_observing()) on_lock_created(self(), address_of(lock), code);
}
void lock_destroyed(Pointer lock, Address code) {
  if (is_observing()) on_lock_destroyed(self(), address_of(lock), code);
}
void lock_acquired(Pointer lock, LockMode mode, LockAttempt attempt, Address code) {
  if (is_observing()) on_lock_acquired(self(), address_of(lock), mode, attempt, code);
}
void lock_releasing(Pointer lock, Address code) {
  if (is_observing()) on_lock_releasing(self(), address_of(lock), code);
}
void benign_range(Pointer begin, std::size_t size, Address code) {
  if (is_observing()) on_benign_range(self(), address_of(begin), size, code);
}

// Flags of __tsan_mutex_*.
constexpr unsigned kReadLock = 1U << 3;
constexpr unsigned kTryLock = 1U << 4;
constexpr unsigned kTryLockFailed = 1U << 5;
constexpr unsigned kRecursiveLock = 1U << 6;

constexpr unsigned kRecursiveUnlock = 1U << 7;

int depth_of(Pointer lock) {
  if (!is_observing()) return 1;
  adopt_unseen_locks(self());
  for (const HeldLockState& held : self().held) {
    if (held.lock == address_of(lock)) return static_cast<int>(held.depth);
  }
  return 1;
}

LockMode mode_of(unsigned flags) { return (flags & kReadLock) != 0 ? LockMode::kShared : LockMode::kExclusive; }

LockAttempt attempt_of(unsigned flags) { return (flags & kTryLock) != 0 ? LockAttempt::kTry : LockAttempt::kBlocking; }

// Each annotation that means nothing to us.
#define DEADHEAT_IGNORED(name, ...) \
  DEADHEAT_INTERCEPT(void, name, File, int __VA_OPT__(, ) __VA_ARGS__) {}

}  // namespace

// dynamic_annotations: order.
DEADHEAT_INTERCEPT(void, AnnotateHappensBefore, File, int, Pointer tag) { happens_before(tag, DEADHEAT_CALLER); }
DEADHEAT_INTERCEPT(void, AnnotateHappensAfter, File, int, Pointer tag) { happens_after(tag, DEADHEAT_CALLER); }
DEADHEAT_INTERCEPT(void, WTFAnnotateHappensBefore, File, int, Pointer tag) { happens_before(tag, DEADHEAT_CALLER); }
DEADHEAT_INTERCEPT(void, WTFAnnotateHappensAfter, File, int, Pointer tag) { happens_after(tag, DEADHEAT_CALLER); }
DEADHEAT_INTERCEPT(void, AnnotateCondVarSignal, File, int, Pointer condition) {
  happens_before(condition, DEADHEAT_CALLER);
}
DEADHEAT_INTERCEPT(void, AnnotateCondVarSignalAll, File, int, Pointer condition) {
  happens_before(condition, DEADHEAT_CALLER);
}
DEADHEAT_INTERCEPT(void, AnnotateCondVarWait, File, int, Pointer condition, Pointer) {
  happens_after(condition, DEADHEAT_CALLER);
}
DEADHEAT_INTERCEPT(void, AnnotatePCQPut, File, int, Pointer queue) { happens_before(queue, DEADHEAT_CALLER); }
DEADHEAT_INTERCEPT(void, AnnotatePCQGet, File, int, Pointer queue) { happens_after(queue, DEADHEAT_CALLER); }

// Locks.
DEADHEAT_INTERCEPT(void, AnnotateRWLockCreate, File, int, Pointer lock) { lock_created(lock, DEADHEAT_CALLER); }
DEADHEAT_INTERCEPT(void, AnnotateRWLockCreateStatic, File, int, Pointer lock) { lock_created(lock, DEADHEAT_CALLER); }
DEADHEAT_INTERCEPT(void, AnnotateRWLockDestroy, File, int, Pointer lock) { lock_destroyed(lock, DEADHEAT_CALLER); }
DEADHEAT_INTERCEPT(void, AnnotateRWLockAcquired, File, int, Pointer lock, std::uintptr_t is_writer) {
  lock_acquired(lock, is_writer != 0 ? LockMode::kExclusive : LockMode::kShared, LockAttempt::kBlocking,
                DEADHEAT_CALLER);
}
DEADHEAT_INTERCEPT(void, AnnotateRWLockReleased, File, int, Pointer lock, std::uintptr_t) {
  lock_releasing(lock, DEADHEAT_CALLER);
}

// What not to report.
DEADHEAT_INTERCEPT(void, AnnotateIgnoreReadsBegin, File, int) { ignore_begin(Ignore::kReads, DEADHEAT_CALLER); }
DEADHEAT_INTERCEPT(void, AnnotateIgnoreReadsEnd, File, int) { ignore_end(Ignore::kReads, DEADHEAT_CALLER); }
DEADHEAT_INTERCEPT(void, AnnotateIgnoreWritesBegin, File, int) { ignore_begin(Ignore::kWrites, DEADHEAT_CALLER); }
DEADHEAT_INTERCEPT(void, AnnotateIgnoreWritesEnd, File, int) { ignore_end(Ignore::kWrites, DEADHEAT_CALLER); }
DEADHEAT_INTERCEPT(void, AnnotateIgnoreSyncBegin, File, int) { ignore_begin(Ignore::kSync, DEADHEAT_CALLER); }
DEADHEAT_INTERCEPT(void, AnnotateIgnoreSyncEnd, File, int) { ignore_end(Ignore::kSync, DEADHEAT_CALLER); }
DEADHEAT_INTERCEPT(void, AnnotateBenignRace, File, int, Pointer address, File) {
  benign_range(address, 1, DEADHEAT_CALLER);
}
DEADHEAT_INTERCEPT(void, AnnotateBenignRaceSized, File, int, Pointer address, std::size_t size, File) {
  benign_range(address, size, DEADHEAT_CALLER);
}
DEADHEAT_INTERCEPT(void, WTFAnnotateBenignRaceSized, File, int, Pointer address, std::size_t size, File) {
  benign_range(address, size, DEADHEAT_CALLER);
}

// Memory of the program's own allocators.
DEADHEAT_INTERCEPT(void, AnnotateNewMemory, File, int, Pointer begin, std::size_t size) {
  if (is_observing() && size != 0) on_allocated(self(), address_of(begin), size, DEADHEAT_CALLER);
}

DEADHEAT_INTERCEPT(void, AnnotateThreadName, File, int, const char* name) {
  if (is_observing()) on_thread_named(0, name);
}

DEADHEAT_IGNORED(AnnotateEnableRaceDetection, int)
DEADHEAT_IGNORED(AnnotateExpectRace, Pointer, File)
DEADHEAT_IGNORED(AnnotateFlushExpectedRaces)
DEADHEAT_IGNORED(AnnotateFlushState)
DEADHEAT_IGNORED(AnnotateMemoryIsInitialized, Pointer, std::size_t)
DEADHEAT_IGNORED(AnnotateMemoryIsUninitialized, Pointer, std::size_t)
DEADHEAT_IGNORED(AnnotateMutexIsNotPHB, Pointer)
DEADHEAT_IGNORED(AnnotateMutexIsUsedAsCondVar, Pointer)
DEADHEAT_IGNORED(AnnotateNoOp, Pointer)
DEADHEAT_IGNORED(AnnotatePCQCreate, Pointer)
DEADHEAT_IGNORED(AnnotatePCQDestroy, Pointer)
DEADHEAT_IGNORED(AnnotatePublishMemoryRange, Pointer, std::size_t)
DEADHEAT_IGNORED(AnnotateUnpublishMemoryRange, Pointer, std::size_t)
DEADHEAT_IGNORED(AnnotateTraceMemory, Pointer)

DEADHEAT_INTERCEPT(int, RunningOnValgrind) { return 0; }
DEADHEAT_INTERCEPT(double, ValgrindSlowdown) { return 10.0; }

// TSan's interface.
DEADHEAT_INTERCEPT(void, __tsan_acquire, void* tag) { happens_after(tag, DEADHEAT_CALLER); }
DEADHEAT_INTERCEPT(void, __tsan_release, void* tag) { happens_before(tag, DEADHEAT_CALLER); }

DEADHEAT_INTERCEPT(void, __tsan_mutex_create, void* lock, unsigned) { lock_created(lock, DEADHEAT_CALLER); }
DEADHEAT_INTERCEPT(void, __tsan_mutex_destroy, void* lock, unsigned) { lock_destroyed(lock, DEADHEAT_CALLER); }

DEADHEAT_INTERCEPT(void, __tsan_mutex_pre_lock, void* lock, unsigned flags) {
  if (is_scheduled && is_observing()) [[unlikely]]
    schedule_request(self(), address_of(lock), mode_of(flags), attempt_of(flags), DEADHEAT_CALLER);
  ignore_begin(Ignore::kAll, DEADHEAT_CALLER);
}

DEADHEAT_INTERCEPT(void, __tsan_mutex_post_lock, void* lock, unsigned flags, int recursion) {
  ignore_end(Ignore::kAll, DEADHEAT_CALLER);
  if ((flags & kTryLockFailed) != 0) {
    if (is_observing()) on_lock_try_failed(self(), address_of(lock), mode_of(flags), DEADHEAT_CALLER);
    return;
  }
  int depth = (flags & kRecursiveLock) != 0 && recursion > 0 ? recursion : 1;
  for (; depth > 0; --depth) lock_acquired(lock, mode_of(flags), attempt_of(flags), DEADHEAT_CALLER);
}

// Returns how often the mutex was given up: more than once only if it is recursive
// and given up altogether.
DEADHEAT_INTERCEPT(int, __tsan_mutex_pre_unlock, void* lock, unsigned flags) {
  const int depth = (flags & kRecursiveUnlock) != 0 ? depth_of(lock) : 1;
  for (int turn = 0; turn < depth; ++turn) lock_releasing(lock, DEADHEAT_CALLER);
  ignore_begin(Ignore::kAll, DEADHEAT_CALLER);
  return depth;
}
DEADHEAT_INTERCEPT(void, __tsan_mutex_post_unlock, void*, unsigned) { ignore_end(Ignore::kAll, DEADHEAT_CALLER); }

DEADHEAT_INTERCEPT(void, __tsan_mutex_pre_signal, void*, unsigned) { ignore_begin(Ignore::kAll, DEADHEAT_CALLER); }
DEADHEAT_INTERCEPT(void, __tsan_mutex_post_signal, void*, unsigned) { ignore_end(Ignore::kAll, DEADHEAT_CALLER); }
DEADHEAT_INTERCEPT(void, __tsan_mutex_pre_divert, void*, unsigned) { ignore_end(Ignore::kAll, DEADHEAT_CALLER); }
DEADHEAT_INTERCEPT(void, __tsan_mutex_post_divert, void*, unsigned) { ignore_begin(Ignore::kAll, DEADHEAT_CALLER); }
DEADHEAT_INTERCEPT(void, __tsan_check_no_mutexes_held) {}

DEADHEAT_INTERCEPT(void, __tsan_ignore_thread_begin) { ignore_begin(Ignore::kReadsAndWrites, DEADHEAT_CALLER); }
DEADHEAT_INTERCEPT(void, __tsan_ignore_thread_end) { ignore_end(Ignore::kReadsAndWrites, DEADHEAT_CALLER); }

// include/deadheat/annotate.h. Its inline functions call these under other names
// than the ones users see, so that the header works without the runtime too.
DEADHEAT_INTERCEPT(void, deadheat_runtime_happens_before, Pointer tag) { happens_before(tag, DEADHEAT_CALLER); }
DEADHEAT_INTERCEPT(void, deadheat_runtime_happens_after, Pointer tag) { happens_after(tag, DEADHEAT_CALLER); }
DEADHEAT_INTERCEPT(void, deadheat_runtime_lock_created, Pointer lock) { lock_created(lock, DEADHEAT_CALLER); }
DEADHEAT_INTERCEPT(void, deadheat_runtime_lock_destroyed, Pointer lock) { lock_destroyed(lock, DEADHEAT_CALLER); }
DEADHEAT_INTERCEPT(void, deadheat_runtime_lock_acquired, Pointer lock, int is_shared) {
  lock_acquired(lock, is_shared != 0 ? LockMode::kShared : LockMode::kExclusive, LockAttempt::kBlocking,
                DEADHEAT_CALLER);
}
DEADHEAT_INTERCEPT(void, deadheat_runtime_lock_releasing, Pointer lock) { lock_releasing(lock, DEADHEAT_CALLER); }
DEADHEAT_INTERCEPT(void, deadheat_runtime_ignore_begin) { ignore_begin(Ignore::kReadsAndWrites, DEADHEAT_CALLER); }
DEADHEAT_INTERCEPT(void, deadheat_runtime_ignore_end) { ignore_end(Ignore::kReadsAndWrites, DEADHEAT_CALLER); }
DEADHEAT_INTERCEPT(void, deadheat_runtime_benign, Pointer begin, std::size_t size) {
  benign_range(begin, size, DEADHEAT_CALLER);
}
DEADHEAT_INTERCEPT(void, deadheat_runtime_new_memory, Pointer begin, std::size_t size) {
  if (is_observing() && size != 0) on_allocated(self(), address_of(begin), size, DEADHEAT_CALLER);
}
DEADHEAT_INTERCEPT(void, deadheat_runtime_thread_name, const char* name) {
  if (is_observing() && name != nullptr) on_thread_named(0, name);
}
