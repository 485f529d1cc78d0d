// SPDX-License-Identifier: Apache-2.0
#include "runtime/atomic_trail.h"

namespace deadheat::runtime {

constinit AtomicTrail atomic_trails[kSlotCount];

WeakFlag find_weak_flag(ThreadSlot earlier, Clock clock, ThreadSlot later) {
  const auto order_of = [](std::uint64_t bits) {
    return MemoryOrder{static_cast<std::uint8_t>(bits & ((1U << trail::kOrderBits) - 1))};
  };
  const AtomicTrail& reader = atomic_trails[raw(later)];
  const AtomicTrail& writer = atomic_trails[raw(earlier)];
  for (const AtomicStep& read : reader.reads) {
    const Address address = read.address.load(std::memory_order_relaxed);
    for (const AtomicStep& write : writer.writes) {
      if (address == 0 || write.address.load(std::memory_order_relaxed) != address) continue;
      if (write.value.load(std::memory_order_relaxed) != read.value.load(std::memory_order_relaxed)) continue;
      const std::uint64_t written = write.clock_and_order.load(std::memory_order_relaxed);
      if (written >> trail::kOrderBits < clock) continue;
      const MemoryOrder write_order = order_of(written);
      const MemoryOrder read_order = order_of(read.clock_and_order.load(std::memory_order_relaxed));
      if (releases(write_order) && acquires(read_order)) continue;
      return {address, write.code.load(std::memory_order_relaxed), read.code.load(std::memory_order_relaxed),
              write_order, read_order};
    }
  }
  return {};
}

}  // namespace deadheat::runtime
