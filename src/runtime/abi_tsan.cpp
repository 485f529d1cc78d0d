// SPDX-License-Identifier: Apache-2.0
// The odds and ends of TSan's interface: objects of other languages' runtimes
// (external, java), questions about reports, and the barrier of its test-suite.
//
// Reports are read outside the process, so there is none to ask about here:
// those functions say so with the value that means failure.
#include <linux/futex.h>
#include <sys/syscall.h>

#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>

#include "runtime/heap_table.h"
#include "runtime/intercept/interceptor.h"
#include "runtime/on_access.h"
#include "runtime/on_memory.h"
#include "runtime/on_sync.h"
#include "runtime/system.h"

using namespace deadheat;
using namespace deadheat::runtime;

namespace {

Address code_of(void* caller) { return reinterpret_cast<Address>(caller); }

// A barrier of the tests: who arrives how often, invisible to the detector. The
// low half is the number of threads, the high half counts arrivals; phase n is
// over when n times the number have arrived.
using InvisibleBarrier = std::atomic<std::uint64_t>;

std::uint32_t* arrivals_of(InvisibleBarrier* barrier) { return reinterpret_cast<std::uint32_t*>(barrier) + 1; }

void wait_for_change(InvisibleBarrier* barrier, std::uint32_t seen) {
  raw_call(SYS_futex, reinterpret_cast<long>(arrivals_of(barrier)), FUTEX_WAIT, seen);
}

}  // namespace

DEADHEAT_INTERCEPT(void, __tsan_testonly_barrier_init, InvisibleBarrier* barrier, unsigned count) {
  barrier->store(count, std::memory_order_relaxed);
}

DEADHEAT_INTERCEPT(void, __tsan_testonly_barrier_wait, InvisibleBarrier* barrier) {
  constexpr std::uint64_t kOne = std::uint64_t{1} << 32;
  std::uint64_t state = barrier->fetch_add(kOne, std::memory_order_relaxed);
  const auto count = static_cast<std::uint32_t>(state);
  if (count == 0) return;
  const std::uint32_t phase = static_cast<std::uint32_t>(state >> 32) / count;
  state = barrier->load(std::memory_order_relaxed);
  if (static_cast<std::uint32_t>(state >> 32) / count != phase) {
    raw_call(SYS_futex, reinterpret_cast<long>(arrivals_of(barrier)), FUTEX_WAKE, INT_MAX);
  }
  while (static_cast<std::uint32_t>(state >> 32) / count == phase) {
    wait_for_change(barrier, static_cast<std::uint32_t>(state >> 32));
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
DEADHEAT_INTERCEPT(int, __tsan_java_mutex_unlock_rec, unsigned long lock) {
  if (is_observing()) on_lock_releasing(self(), lock, DEADHEAT_CALLER);
  return 1;
}

// Questions about a report.
DEADHEAT_INTERCEPT(void*, __tsan_get_current_report) { return nullptr; }
DEADHEAT_INTERCEPT(int, __tsan_get_report_data, void*, const char**, int*, int*, int*, int*, int*, int*, int*, void**,
                   unsigned long) {
  return 0;
}
DEADHEAT_INTERCEPT(int, __tsan_get_report_tag, void*, unsigned long*) { return 0; }
DEADHEAT_INTERCEPT(int, __tsan_get_report_stack, void*, unsigned long, void**, unsigned long) { return 0; }
DEADHEAT_INTERCEPT(int, __tsan_get_report_mop, void*, unsigned long, int*, void**, int*, int*, int*, void**,
                   unsigned long) {
  return 0;
}
DEADHEAT_INTERCEPT(int, __tsan_get_report_loc, void*, unsigned long, const char**, void**, void**, unsigned long*, int*,
                   int*, int*, void**, unsigned long) {
  return 0;
}
DEADHEAT_INTERCEPT(int, __tsan_get_report_loc_object_type, void*, unsigned long, const char**) { return 0; }
DEADHEAT_INTERCEPT(int, __tsan_get_report_mutex, void*, unsigned long, std::uint64_t*, void**, int*, void**,
                   unsigned long) {
  return 0;
}
DEADHEAT_INTERCEPT(int, __tsan_get_report_thread, void*, unsigned long, int*, std::uint64_t*, int*, const char**, int*,
                   void**, unsigned long) {
  return 0;
}
DEADHEAT_INTERCEPT(int, __tsan_get_report_unique_tid, void*, unsigned long, int*) { return 0; }

// What an address is: "heap" or nothing we know here.
DEADHEAT_INTERCEPT(const char*, __tsan_locate_address, unsigned long address, char* name, std::size_t name_size,
                   unsigned long* begin, unsigned long* size) {
  if (name_size > 0) name[0] = 0;
  const HeapBlock block = HeapTable::describe(address);
  if (block.kind != HeapKind::kLive) return "";
  *begin = block.begin;
  *size = block.size;
  return "heap";
}
DEADHEAT_INTERCEPT(int, __tsan_get_alloc_stack, unsigned long, unsigned long*, std::size_t, int*, void*) { return 0; }
