// SPDX-License-Identifier: Apache-2.0
// AtomicTrail: the last atomic operations of each thread, for one sentence in a report: "the
// flag is written after the one access and read before the other, but relaxed operations
// order nothing".
//
// A few writes and a few reads per slot of threads, with the value. When a race is found, a
// write by the earlier thread after its access and a read of the same variable and value by
// the later thread make a flag, if they are too weak together to order anything. That the
// read saw that very write is likely, not certain: somebody else may have written the same
// value. Operations further back are forgotten, and nothing is said then.
//
//   Written: by the thread that has the slot, without order.
//   Read:    by whoever found a race; what is torn does not match, or is a wrong sentence
//            beside a right race.
// Loads and stores only: operations that do both would pay twice for it, and are seldom
// flags. Measured on a busy machine (least of 21 loops): a load took 18.9 ns instead of 15.9,
// a store 29.7 instead of 26.1.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/epoch.h"
#include "model/event.h"
#include "model/identity.h"
#include "runtime/slots.h"

namespace deadheat::runtime {

struct AtomicStep {
  std::atomic<Address> address{0};
  std::atomic<Address> code{0};
  std::atomic<std::uint64_t> value{0};
  std::atomic<std::uint64_t> clock_and_order{0};
};

// A write ends an epoch, so the last ones have different clocks; reads go by address, so
// that one that is repeated does not displace the others.
struct alignas(256) AtomicTrail {
  static constexpr std::uint32_t kSteps = 4;
  AtomicStep writes[kSteps];
  AtomicStep reads[kSteps];
};
static_assert(sizeof(AtomicTrail) == 256);
[[gnu::visibility("hidden")]] extern AtomicTrail atomic_trails[kSlotCount];

namespace trail {

inline constexpr int kOrderBits = 8;

[[gnu::always_inline]] inline void set(AtomicStep& step, Address address, Address code, std::uint64_t value,
                                       Clock clock, MemoryOrder order) {
  step.address.store(address, std::memory_order_relaxed);
  step.code.store(code, std::memory_order_relaxed);
  step.value.store(value, std::memory_order_relaxed);
  step.clock_and_order.store((clock << kOrderBits) | raw(order), std::memory_order_relaxed);
}

}  // namespace trail

// The thread of this epoch has read or written the value.
[[gnu::always_inline]] inline void note_atomic_read(Epoch now, Address address, std::uint64_t value, MemoryOrder order,
                                                    Address code) {
  AtomicTrail& own = atomic_trails[raw(now.slot())];
  trail::set(own.reads[address / 4 % AtomicTrail::kSteps], address, code, value, now.clock(), order);
}
[[gnu::always_inline]] inline void note_atomic_write(Epoch now, Address address, std::uint64_t value, MemoryOrder order,
                                                     Address code) {
  AtomicTrail& own = atomic_trails[raw(now.slot())];
  trail::set(own.writes[now.clock() % AtomicTrail::kSteps], address, code, value, now.clock(), order);
}

struct WeakFlag {
  Address address = 0;  // 0: none
  Address write_code = 0;
  Address read_code = 0;
  MemoryOrder write_order = MemoryOrder::kRelaxed;
  MemoryOrder read_order = MemoryOrder::kRelaxed;
};
// Between an earlier access at this full clock and the current moment of another thread.
[[nodiscard]] WeakFlag find_weak_flag(ThreadSlot earlier, Clock clock, ThreadSlot later);

}  // namespace deadheat::runtime
