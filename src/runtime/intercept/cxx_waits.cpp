// SPDX-License-Identifier: Apache-2.0
// The order that libstdc++ and libc++ make by atomic operations of their own, which nobody shows us, where
// the other side is in headers, and so in the program, whose atomic operations are seen:
//
//   at the end of a thread   a promise is fulfilled by libstdc++; who waits for it looks at the state's word
//   call_once                libc++ sets the flag that later callers look at
//   barriers                 libc++ counts who arrives; who waits looks at the phase
//
// So what the library is about to publish is published by us before, by an atomic operation that
// changes nothing.
#include "runtime/intercept/library_calls.h"
#include "runtime/on_sync.h"

extern "C" std::uint32_t __tsan_atomic32_fetch_or(volatile std::uint32_t* at, std::uint32_t value, int order);
extern "C" std::uint64_t __tsan_atomic64_fetch_or(volatile std::uint64_t* at, std::uint64_t value, int order);
extern "C" std::uint32_t __tsan_atomic32_fetch_sub(volatile std::uint32_t* at, std::uint32_t value, int order);

namespace deadheat::runtime {
namespace {

// The entry that std::promise has registered for the end of its thread, as libstdc++ lays it out: an element of a
// list, and a weak pointer to the state.
struct FutureState {
  void* table;
  void* result;
  std::uint32_t status;
};
struct StateCounts {
  void (*const* functions)(StateCounts*);  // two destructors, then what ends the state, then the counts
  std::uint32_t uses;
  std::uint32_t weak_uses;
};
struct ThreadEndPromise {
  void* next;
  void (*run)(void*);
  FutureState* state;
  StateCounts* counts;
};

constinit std::atomic<void (*)(void*)> real_run{nullptr};

bool try_use(StateCounts& counts) {
  std::uint32_t seen = __atomic_load_n(&counts.uses, __ATOMIC_RELAXED);
  while (seen != 0) {
    if (__atomic_compare_exchange_n(&counts.uses, &seen, seen + 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
      return true;
  }
  return false;
}

void drop_use(StateCounts& counts) {
  if (__tsan_atomic32_fetch_sub(&counts.uses, 1, __ATOMIC_ACQ_REL) != 1) return;
  counts.functions[2](&counts);
  if (__tsan_atomic32_fetch_sub(&counts.weak_uses, 1, __ATOMIC_ACQ_REL) == 1) counts.functions[3](&counts);
}

void run_at_thread_end(void* element) {
  const auto& promise = *static_cast<ThreadEndPromise*>(element);
  StateCounts* const counts = promise.counts;
  const bool is_there = counts != nullptr && try_use(*counts);
  if (is_there) __tsan_atomic32_fetch_or(&promise.state->status, 0, __ATOMIC_RELEASE);
  real_run.load(std::memory_order_relaxed)(element);
  if (is_there) drop_use(*counts);
}

struct OnceFunction {
  void (*function)(void*);
  void* argument;
  volatile std::uint64_t* flag;
};

void run_once_function(void* context) {
  const OnceFunction call = *static_cast<const OnceFunction*>(context);
  call.function(call.argument);
  __tsan_atomic64_fetch_or(call.flag, 0, __ATOMIC_RELEASE);
}

}  // namespace
}  // namespace deadheat::runtime

using namespace deadheat;
using namespace deadheat::runtime;

DEADHEAT_LIBRARY_CALL("libstdc++", void, _ZNSt13__future_base13_State_baseV211_Make_ready6_M_setEv,
                      ThreadEndPromise* promise) {
  DEADHEAT_BEHIND(_ZNSt13__future_base13_State_baseV211_Make_ready6_M_setEv);
  behind(promise);
  real_run.store(promise->run, std::memory_order_relaxed);
  promise->run = run_at_thread_end;
}

DEADHEAT_LIBRARY_CALL("libc++", void, _ZNSt3__111__call_onceERVmPvPFvS2_E, volatile std::uint64_t* flag, void* argument,
                      void (*function)(void*)) {
  DEADHEAT_BEHIND(_ZNSt3__111__call_onceERVmPvPFvS2_E);
  OnceFunction call{function, argument, flag};
  behind(flag, &call, run_once_function);
}

DEADHEAT_LIBRARY_CALL("libc++", bool, _ZNSt3__131__arrive_barrier_algorithm_baseEPNS_24__barrier_algorithm_baseEh,
                      void* barrier, unsigned char phase) {
  DEADHEAT_BEHIND(_ZNSt3__131__arrive_barrier_algorithm_baseEPNS_24__barrier_algorithm_baseEh);
  if (is_observing()) on_happens_before(self(), address_of(barrier), DEADHEAT_CALLER);
  const bool is_last = behind(barrier, phase);
  if (is_last && is_observing()) on_happens_after(self(), address_of(barrier), DEADHEAT_CALLER);
  return is_last;
}
