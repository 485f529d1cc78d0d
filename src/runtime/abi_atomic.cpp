// SPDX-License-Identifier: Apache-2.0
// The hooks for atomic operations and fences.
//
// An operation changes a value and hands on order, and the two must agree: a load
// that reads a value gets the clock that was published with it. So both are done
// while holding the lock of the variable's bucket, except for loads of variables
// that no clock was ever published through: absence is asked after the value was
// read, and a release publishes its clock before its value.
//
// Whatever the program asked for, the memory operation itself is sequentially
// consistent; only the order that is handed on follows the program. While nothing is
// recorded (unchecked_code.h) it is the program's operation and no more.
#include <cstdint>

#include "model/event.h"
#include "runtime/access_check.h"
#include "runtime/atomic_trail.h"
#include "runtime/footprints.h"
#include "runtime/on_sync.h"
#include "runtime/options.h"
#include "runtime/record.h"
#include "runtime/sampling.h"
#include "runtime/start.h"
#include "runtime/sync_table.h"
#include "runtime/thread_registry.h"
#include "runtime/unchecked_code.h"
#include "runtime/unsampled.h"

namespace deadheat::runtime {
namespace {

__extension__ using Wide = unsigned __int128;
static_assert(sizeof(Wide) == 16);

// The machine's operation. 16 bytes go through cmpxchg16b, which every machine has
// that this runs on.
template <class T>
bool machine_compare_exchange(volatile T* at, T& expected, T desired) {
  if constexpr (sizeof(T) == 16) {
    bool done = false;
    auto low = static_cast<std::uint64_t>(expected);
    auto high = static_cast<std::uint64_t>(expected >> 64);
    __asm__ volatile("lock cmpxchg16b %1"
                     : "=@ccz"(done), "+m"(*at), "+a"(low), "+d"(high)
                     : "b"(static_cast<std::uint64_t>(desired)), "c"(static_cast<std::uint64_t>(desired >> 64))
                     : "memory");
    if (!done) expected = (static_cast<T>(high) << 64) | low;
    return done;
  } else {
    return __atomic_compare_exchange_n(at, &expected, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  }
}

template <class T>
T machine_load(const volatile T* at) {
  if constexpr (sizeof(T) == 16) {
    T value = 0;
    machine_compare_exchange(const_cast<volatile T*>(at), value, value);
    return value;
  } else {
    return __atomic_load_n(at, __ATOMIC_SEQ_CST);
  }
}

// Replaces the value by change(value); returns the old one.
template <class T, class Change>
T machine_update(volatile T* at, Change&& change) {
  T old = machine_load(at);
  while (!machine_compare_exchange(at, old, static_cast<T>(change(old)))) {
  }
  return old;
}

template <class T>
void machine_store(volatile T* at, T value, MemoryOrder order = MemoryOrder::kSeqCst) {
  if constexpr (sizeof(T) == 16) {
    machine_update(at, [value](T) { return value; });
  } else if (order != MemoryOrder::kSeqCst) {
    __atomic_store_n(at, value, __ATOMIC_RELEASE);
  } else {
    __atomic_store_n(at, value, __ATOMIC_SEQ_CST);
  }
}

MemoryOrder order_of(int order) {
  const int plain = order & 0xffff;  // above are hints for lock elision
  return plain < kMemoryOrderCount ? MemoryOrder{static_cast<std::uint8_t>(plain)} : MemoryOrder::kSeqCst;
}

bool is_observed() {
  return current.inside == 0 && runtime_is_ready.load(std::memory_order_relaxed) &&
         !detection_is_off.load(std::memory_order_relaxed);
}

ReleaseSequences release_sequences() {
  return options().strict_atomics ? ReleaseSequences::kCpp20 : ReleaseSequences::kCpp11;
}

// What the thread has in hand is committed before its clock is published or learns.
void settle_before(ThreadState& self, MemoryOrder order) {
  if (order != MemoryOrder::kRelaxed || !self.clock.release_fence().empty()) settle_footprints(self);
}

// The thread takes over what the variable's value carries. Stripe held.
void take_over(ThreadState& self, const AtomicObject* object, MemoryOrder order) {
  if (object == nullptr || self.ignore.ignores_sync()) return;
  SpinHolder hold_clock(self.clock_lock);
  object->clock.load(self.clock, order);
}

bool publishes(const ThreadState& self, MemoryOrder order) {
  return !self.ignore.ignores_sync() && (releases(order) || !self.clock.release_fence().empty());
}

enum class Write : std::uint8_t { kStore, kReadModifyWrite };

// The value about to be written carries what the thread publishes. Stripe held.
void hand_over(ThreadState& self, Address address, AtomicObject* object, MemoryOrder order, Write write) {
  if (self.ignore.ignores_sync()) return;
  if (object == nullptr) {
    if (!publishes(self, order)) return;
    object = &sync_table().get<AtomicObject>(address);
  }
  sync_table().count_change(address);
  if (write == Write::kStore) {
    object->clock.store(self.clock, order, release_sequences());
  } else {
    object->clock.rmw_store(self.clock, order, release_sequences());
  }
}

// The load as it is after its value was read.
template <class T>
LoadSeen load_now(Address address, MemoryOrder order, Address code) {
  const auto size_and_order = static_cast<std::uint32_t>((sizeof(T) << 8) | raw(order));
  return {address, code, current.epoch_bits, sync_table().changes(address), size_and_order};
}

// Neither to be recorded nor to be checked. Before that: what it hands on.
bool passes_unseen(Address address, std::size_t size) { return is_left_alone() && has_no_record(address, size); }

// A relaxed operation of a thread that does not sample, on a variable that no clock was
// ever published through. If somebody publishes the first one meanwhile, it may
// stay with a value that it does not belong to: an order too many, in that moment.
bool hands_on_nothing(Address address, std::size_t size, MemoryOrder order) {
  return order == MemoryOrder::kRelaxed && passes_unseen(address, size) && sync_table().is_surely_absent(address) &&
         current.state->clock.release_fence().empty();
}

template <class T>
T atomic_load(const volatile T* at, int order_number, Address code) {
  if (!is_observed()) return machine_load(at);
  if (const UncheckedEvent unseen; unseen.is_on()) return machine_load(at);
  const auto address = reinterpret_cast<Address>(at);
  const MemoryOrder order = order_of(order_number);
  if (current.epoch_bits != 0 &&
      (!samples || passes_unseen(address, sizeof(T)))) {  // who spins comes here again and again
    const T value = machine_load(at);
    if (current.state->last_load == load_now<T>(address, order, code)) return value;
    if (samples && sync_table().is_surely_absent(address)) return value;
  }
  RuntimeScope scope;
  ThreadState& self = runtime::self();
  const SamplingEvent event(self);
  const RecordedStep step(self, events::atomic(EventKind::kAtomicLoad, self.clock.id(), address, sizeof(T), order),
                          code);
  T value = machine_load(at);
  if (order != MemoryOrder::kRelaxed) settle_footprints(self);
  if (!sync_table().is_surely_absent(address)) {
    SpinHolder hold(sync_table().stripe(address));
    value = machine_load(at);
    const AtomicObject* object = sync_table().find<AtomicObject>(address);
    take_over(self, object, order);
    if (object != nullptr && !self.ignore.ignores_sync()) self.last_load = load_now<T>(address, order, code);
  }
  note_atomic_read(self.clock.epoch(), address, static_cast<std::uint64_t>(value), order, code);
  check_atomic(self, AccessKind::kAtomicRead, address, sizeof(T), code);
  return value;
}

template <class T>
void atomic_store(volatile T* at, T value, int order_number, Address code) {
  if (!is_observed()) return machine_store(at, value);
  if (const UncheckedEvent unseen; unseen.is_on()) return machine_store(at, value, order_of(order_number));
  if (hands_on_nothing(reinterpret_cast<Address>(at), sizeof(T), order_of(order_number)))
    return machine_store(at, value);
  RuntimeScope scope;
  ThreadState& self = runtime::self();
  const SamplingEvent event(self);
  const auto address = reinterpret_cast<Address>(at);
  const MemoryOrder order = order_of(order_number);
  const RecordedStep step(self, events::atomic(EventKind::kAtomicStore, self.clock.id(), address, sizeof(T), order),
                          code);
  check_atomic(self, AccessKind::kAtomicWrite, address, sizeof(T), code);
  settle_before(self, order);
  {
    SpinHolder hold(sync_table().stripe(address));
    hand_over(self, address, sync_table().find<AtomicObject>(address), order, Write::kStore);
    note_atomic_write(self.clock.epoch(), address, static_cast<std::uint64_t>(value), order, code);
    machine_store(at, value);
  }
  advance(self);
}

template <class T, class Change>
T atomic_update(volatile T* at, int order_number, Address code, Change&& change) {
  if (!is_observed()) return machine_update(at, change);
  if (const UncheckedEvent unseen; unseen.is_on()) return machine_update(at, change);
  if (hands_on_nothing(reinterpret_cast<Address>(at), sizeof(T), order_of(order_number)))
    return machine_update(at, change);
  RuntimeScope scope;
  ThreadState& self = runtime::self();
  const SamplingEvent event(self);
  const auto address = reinterpret_cast<Address>(at);
  const MemoryOrder order = order_of(order_number);
  const RecordedStep step(self, events::atomic(EventKind::kAtomicRmw, self.clock.id(), address, sizeof(T), order),
                          code);
  T old{};
  settle_before(self, order);
  const AtomicCheck left = begin_atomic_check(self, AccessKind::kAtomicWrite, address, sizeof(T), code);
  {
    SpinHolder hold(sync_table().stripe(address));
    AtomicObject* object = sync_table().find<AtomicObject>(address);
    take_over(self, object, order);
    finish_atomic_check(left, self, AccessKind::kAtomicWrite, address, sizeof(T), code);
    hand_over(self, address, object, order, Write::kReadModifyWrite);
    old = machine_update(at, change);
  }
  advance(self);
  return old;
}

template <class T>
bool atomic_compare_exchange(volatile T* at, T& expected, T desired, int success_number, int failure_number,
                             Address code) {
  if (!is_observed()) return machine_compare_exchange(at, expected, desired);
  if (const UncheckedEvent unseen; unseen.is_on()) return machine_compare_exchange(at, expected, desired);
  RuntimeScope scope;
  ThreadState& self = runtime::self();
  const SamplingEvent event(self);
  const auto address = reinterpret_cast<Address>(at);
  const MemoryOrder success = order_of(success_number);
  const MemoryOrder failure = order_of(failure_number);
  const RecordingHold recorded;
  bool done = false;
  if (success != MemoryOrder::kRelaxed || failure != MemoryOrder::kRelaxed) settle_footprints(self);
  settle_before(self, success);
  {
    SpinHolder hold(sync_table().stripe(address));
    AtomicObject* object = sync_table().find<AtomicObject>(address);
    // Nobody who publishes through this variable can come in between: its bucket
    // is ours. What the exchange will do shows before it is done.
    const T now = machine_load(at);
    const bool will_match = now == expected;
    if (will_match) {
      take_over(self, object, success);
      check_atomic(self, AccessKind::kAtomicWrite, address, sizeof(T), code);
      hand_over(self, address, object, success, Write::kReadModifyWrite);
      done = machine_compare_exchange(at, expected, desired);
    } else {
      expected = now;
      take_over(self, object, failure);
      check_atomic(self, AccessKind::kAtomicRead, address, sizeof(T), code);
    }
    recorded.write(events::atomic(will_match ? EventKind::kAtomicRmw : EventKind::kAtomicLoad, self.clock.id(), address,
                                  sizeof(T), will_match ? success : failure),
                   code);
  }
  advance(self);
  return done;
}

}  // namespace
}  // namespace deadheat::runtime

using namespace deadheat;
using namespace deadheat::runtime;

#define HOOK extern "C" __attribute__((visibility("default")))
#define CALLER (reinterpret_cast<Address>(__builtin_return_address(0)))

#define UPDATE_HOOK(bits, type, name, expression)                                                         \
  HOOK type __tsan_atomic##bits##_##name(volatile type* at, type value, int order) {                      \
    return atomic_update(at, order, CALLER, [value](type old) { return static_cast<type>(expression); }); \
  }

#define ATOMIC_HOOKS(bits, type)                                                                                       \
  HOOK type __tsan_atomic##bits##_load(const volatile type* at, int order) { return atomic_load(at, order, CALLER); }  \
  HOOK void __tsan_atomic##bits##_store(volatile type* at, type value, int order) {                                    \
    atomic_store(at, value, order, CALLER);                                                                            \
  }                                                                                                                    \
  UPDATE_HOOK(bits, type, exchange, (static_cast<void>(old), value))                                                   \
  UPDATE_HOOK(bits, type, fetch_add, old + value)                                                                      \
  UPDATE_HOOK(bits, type, fetch_sub, old - value)                                                                      \
  UPDATE_HOOK(bits, type, fetch_and, old& value)                                                                       \
  UPDATE_HOOK(bits, type, fetch_or, old | value)                                                                       \
  UPDATE_HOOK(bits, type, fetch_xor, old ^ value)                                                                      \
  UPDATE_HOOK(bits, type, fetch_nand, ~(old & value))                                                                  \
  HOOK int __tsan_atomic##bits##_compare_exchange_strong(volatile type* at, type* expected, type desired, int success, \
                                                         int failure) {                                                \
    return atomic_compare_exchange(at, *expected, desired, success, failure, CALLER) ? 1 : 0;                          \
  }                                                                                                                    \
  HOOK int __tsan_atomic##bits##_compare_exchange_weak(volatile type* at, type* expected, type desired, int success,   \
                                                       int failure) {                                                  \
    return atomic_compare_exchange(at, *expected, desired, success, failure, CALLER) ? 1 : 0;                          \
  }                                                                                                                    \
  HOOK type __tsan_atomic##bits##_compare_exchange_val(volatile type* at, type expected, type desired, int success,    \
                                                       int failure) {                                                  \
    atomic_compare_exchange(at, expected, desired, success, failure, CALLER);                                          \
    return expected;                                                                                                   \
  }

ATOMIC_HOOKS(8, std::uint8_t)
ATOMIC_HOOKS(16, std::uint16_t)
ATOMIC_HOOKS(32, std::uint32_t)
ATOMIC_HOOKS(64, std::uint64_t)
ATOMIC_HOOKS(128, Wide)

HOOK void __tsan_atomic_thread_fence(int order) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  if (is_observed()) on_fence(self(), order_of(order), CALLER);
}

HOOK void __tsan_atomic_signal_fence(int /*order*/) { __asm__ volatile("" ::: "memory"); }
