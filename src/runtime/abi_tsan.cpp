// SPDX-License-Identifier: Apache-2.0
// The odds and ends of TSan's interface: objects of other languages' runtimes
// (external, java) and the barrier of its test-suite.
#include <linux/futex.h>
#include <sys/syscall.h>

#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>

#include "runtime/intercept/interceptor.h"
#include "runtime/on_access.h"
#include "runtime/on_memory.h"
#include "runtime/on_sync.h"
#include "runtime/system.h"
#include "runtime/thread_registry.h"

using namespace deadheat;
using namespace deadheat::runtime;

namespace {

Address code_of(void* caller) { return reinterpret_cast<Address>(caller); }

// A barrier of the tests, invisible to the detector, in the 32 bits that they
// reserve for it: the low bits are the number of threads, the others count
// arrivals; phase n is over when n times the number have arrived.
using InvisibleBarrier = std::atomic<std::uint32_t>;

constexpr unsigned kBarrierThreadBits = 10;
constexpr std::uint32_t kBarrierArrival = std::uint32_t{1} << kBarrierThreadBits;

void wait_for_change(InvisibleBarrier* barrier, std::uint32_t seen) {
  raw_call(SYS_futex, reinterpret_cast<long>(barrier), FUTEX_WAIT, seen);
}

}  // namespace

DEADHEAT_INTERCEPT(void, __tsan_testonly_barrier_init, InvisibleBarrier* barrier, unsigned count) {
  barrier->store(count % kBarrierArrival, std::memory_order_relaxed);
}

DEADHEAT_INTERCEPT(void, __tsan_testonly_barrier_wait, InvisibleBarrier* barrier) {
  const auto phase_of = [](std::uint32_t state) { return (state >> kBarrierThreadBits) / (state % kBarrierArrival); };
  const std::uint32_t before = barrier->fetch_add(kBarrierArrival, std::memory_order_relaxed);
  if (before % kBarrierArrival == 0) return;
  const std::uint32_t phase = phase_of(before);
  if (phase_of(before + kBarrierArrival) != phase) {
    raw_call(SYS_futex, reinterpret_cast<long>(barrier), FUTEX_WAKE, INT_MAX);
    return;
  }
  std::uint32_t state = barrier->load(std::memory_order_relaxed);
  while (phase_of(state) == phase) {
    wait_for_change(barrier, state);
    state = barrier->load(std::memory_order_relaxed);
  }
}

DEADHEAT_INTERCEPT(std::size_t, __tsan_testonly_shadow_stack_current_size) { return 0; }

// Nothing needs flushing: memory goes back by itself.
DEADHEAT_INTERCEPT(void, __tsan_flush_memory) {}

// External objects: an access to a byte of the object's header stands for the
// whole. Tags only name things in TSan's reports.
DEADHEAT_INTERCEPT(void*, __tsan_external_register_tag, const char* type) { return const_cast<char*>(type); }
DEADHEAT_INTERCEPT(void, __tsan_external_register_header, void*, const char*) {}
DEADHEAT_INTERCEPT(void, __tsan_external_assign_tag, void*, void*) {}
DEADHEAT_INTERCEPT(void, __tsan_external_read, void* object, void* caller, void*) {
  on_read(object, 1, code_of(caller));
}
DEADHEAT_INTERCEPT(void, __tsan_external_write, void* object, void* caller, void*) {
  on_write(object, 1, code_of(caller));
}

// Virtual machines that manage a heap of their own.
DEADHEAT_INTERCEPT(void, __tsan_java_init, unsigned long begin, unsigned long size) {
  if (is_observing()) on_mapped(self(), begin, size, DEADHEAT_CALLER);
}
DEADHEAT_INTERCEPT(int, __tsan_java_fini) { return 0; }
DEADHEAT_INTERCEPT(void, __tsan_java_alloc, unsigned long begin, unsigned long size) {
  if (is_observing()) on_allocated(self(), begin, size, DEADHEAT_CALLER);
}
DEADHEAT_INTERCEPT(void, __tsan_java_free, unsigned long begin, unsigned long size) {
  if (is_observing()) on_mapped(self(), begin, size, DEADHEAT_CALLER);
}
DEADHEAT_INTERCEPT(unsigned long, __tsan_java_find, unsigned long*, unsigned long) { return 0; }
// The world stands still while objects move, so the history of the place they
// come from and go to ends.
DEADHEAT_INTERCEPT(void, __tsan_java_move, unsigned long from, unsigned long to, unsigned long size) {
  if (!is_observing()) return;
  on_mapped(self(), from, size, DEADHEAT_CALLER);
  on_mapped(self(), to, size, DEADHEAT_CALLER);
}
DEADHEAT_INTERCEPT(void, __tsan_java_finalize) {}
DEADHEAT_INTERCEPT(void, __tsan_java_acquire, unsigned long tag) {
  if (is_observing()) on_happens_after(self(), tag, DEADHEAT_CALLER);
}
DEADHEAT_INTERCEPT(void, __tsan_java_release, unsigned long tag) {
  if (is_observing()) on_happens_before(self(), tag, DEADHEAT_CALLER);
}
DEADHEAT_INTERCEPT(void, __tsan_java_release_store, unsigned long tag) {
  if (is_observing()) on_happens_before(self(), tag, DEADHEAT_CALLER);
}
DEADHEAT_INTERCEPT(void, __tsan_java_mutex_lock, unsigned long lock) {
  if (is_observing()) on_lock_acquired(self(), lock, LockMode::kExclusive, LockAttempt::kBlocking, DEADHEAT_CALLER);
}
DEADHEAT_INTERCEPT(void, __tsan_java_mutex_unlock, unsigned long lock) {
  if (is_observing()) on_lock_releasing(self(), lock, DEADHEAT_CALLER);
}
DEADHEAT_INTERCEPT(void, __tsan_java_mutex_read_lock, unsigned long lock) {
  if (is_observing()) on_lock_acquired(self(), lock, LockMode::kShared, LockAttempt::kBlocking, DEADHEAT_CALLER);
}
DEADHEAT_INTERCEPT(void, __tsan_java_mutex_read_unlock, unsigned long lock) {
  if (is_observing()) on_lock_releasing(self(), lock, DEADHEAT_CALLER);
}
DEADHEAT_INTERCEPT(void, __tsan_java_mutex_lock_rec, unsigned long lock, int depth) {
  for (; is_observing() && depth > 0; --depth) {
    on_lock_acquired(self(), lock, LockMode::kExclusive, LockAttempt::kBlocking, DEADHEAT_CALLER);
  }
}
// Gives it up altogether and says how often it was held.
DEADHEAT_INTERCEPT(int, __tsan_java_mutex_unlock_rec, unsigned long lock) {
  if (!is_observing()) return 1;
  std::uint32_t depth = 1;
  adopt_unseen_locks(self());
  for (const HeldLockState& held : self().held) {
    if (held.lock == lock) depth = held.depth;
  }
  for (std::uint32_t turn = 0; turn < depth; ++turn) on_lock_releasing(self(), lock, DEADHEAT_CALLER);
  return static_cast<int>(depth);
}
