// SPDX-License-Identifier: Apache-2.0
// The order that Abseil makes inside itself, as Debian 12 has it (absl::debian3). absl::call_once and spin locks are
// headers.
//
// A mutex calls the conditions that threads wait for (Await, LockWhen) while it is locked, also in the thread that
// unlocks it, after we have noted that. They read what the mutex guards, so their reads are left out.
#include "runtime/intercept/foreign_calls.h"

extern "C" std::uint8_t __tsan_atomic8_fetch_or(volatile std::uint8_t* at, std::uint8_t value, int order);

namespace deadheat::runtime {
namespace {

// A notification has a mutex, and then the flag that headers look at.
void publish_flag(std::uint64_t notification) {
  __tsan_atomic8_fetch_or(reinterpret_cast<std::uint8_t*>(notification + 8), 0, __ATOMIC_RELEASE);
}

// The reads of the program's conditions within a call.
class Conditions {
 public:
  static void begin(Address code) {
    if (is_observing()) on_ignore_begin(self(), Ignore::kReads, code);
  }
  static void end(Address code) {
    if (is_observing()) on_ignore_end(self(), Ignore::kReads, code);
  }
};

}  // namespace
}  // namespace deadheat::runtime

using namespace deadheat;
using namespace deadheat::runtime;

#define ABSL(name, before, after) DEADHEAT_FOREIGN("libabsl_synchronization", name, before, after)
#define ABSL_CONDITION(name, before, after) \
  ABSL(name, before; Conditions::begin(DEADHEAT_CALLER), Conditions::end(DEADHEAT_CALLER); after)
#define MUTEX(name) _ZN4absl7debian35Mutex##name

ABSL(MUTEX(4LockEv), , order.lock(a))
ABSL(MUTEX(7TryLockEv), , order.try_lock(a, is_true(result)))
ABSL_CONDITION(MUTEX(6UnlockEv), order.unlock(a), )
ABSL(MUTEX(10ReaderLockEv), , order.lock_shared(a))
ABSL(MUTEX(13ReaderTryLockEv), , order.try_lock_shared(a, is_true(result)))
ABSL_CONDITION(MUTEX(12ReaderUnlockEv), order.unlock(a), )
ABSL(MUTEX(D1Ev), order.end_lock(a), )
ABSL(MUTEX(D2Ev), order.end_lock(a), )
ABSL_CONDITION(MUTEX(8LockWhenERKNS0_9ConditionE), , order.lock(a))
ABSL_CONDITION(MUTEX(19LockWhenWithTimeoutERKNS0_9ConditionENS0_8DurationE), , order.lock(a))
ABSL_CONDITION(MUTEX(20LockWhenWithDeadlineERKNS0_9ConditionENS0_4TimeE), , order.lock(a))
ABSL_CONDITION(MUTEX(14ReaderLockWhenERKNS0_9ConditionE), , order.lock_shared(a))
ABSL_CONDITION(MUTEX(25ReaderLockWhenWithTimeoutERKNS0_9ConditionENS0_8DurationE), , order.lock_shared(a))
ABSL_CONDITION(MUTEX(26ReaderLockWhenWithDeadlineERKNS0_9ConditionENS0_4TimeE), , order.lock_shared(a))
// The lock is held, in whatever mode, before and after: what it orders is handed on without it.
ABSL_CONDITION(MUTEX(5AwaitERKNS0_9ConditionE), order.unlock(a), order.lock(a))
ABSL_CONDITION(MUTEX(16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE), order.unlock(a), order.lock(a))
ABSL_CONDITION(MUTEX(17AwaitWithDeadlineERKNS0_9ConditionENS0_4TimeE), order.unlock(a), order.lock(a))
ABSL_CONDITION(_ZN4absl7debian37CondVar4WaitEPNS0_5MutexE, order.unlock(b), order.lock(b))
ABSL_CONDITION(_ZN4absl7debian37CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE, order.unlock(b), order.lock(b))
ABSL_CONDITION(_ZN4absl7debian37CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE, order.unlock(b), order.lock(b))

ABSL(_ZN4absl7debian312Notification6NotifyEv, order.give(a); publish_flag(a), )
ABSL(_ZNK4absl7debian312Notification19WaitForNotificationEv, , order.take(a))
ABSL(_ZNK4absl7debian312Notification30WaitForNotificationWithTimeoutENS0_8DurationE, ,
     order.take(is_true(result) ? a : 0))
ABSL(_ZNK4absl7debian312Notification31WaitForNotificationWithDeadlineENS0_4TimeE, , order.take(is_true(result) ? a : 0))
ABSL(_ZN4absl7debian315BlockingCounter14DecrementCountEv, order.give(a), order.take(is_true(result) ? a : 0))
ABSL(_ZN4absl7debian315BlockingCounter4WaitEv, , order.take(a))
ABSL(_ZN4absl7debian37Barrier5BlockEv, order.give(a), order.take(a))
