// SPDX-License-Identifier: Apache-2.0
#include "runtime/footprints.h"

#include <bit>
#include <new>

namespace deadheat::runtime {
namespace {

std::uint64_t bit_of(std::uint32_t number) { return std::uint64_t{1} << number; }

void commit_slot(ThreadState& self, std::uint32_t number) {
  FootprintSlot& slot = self.footprints[number];
  SlimRaces races;
  commit(self, slot.region, slot.growing.get(), {slot.kind, slot.origin}, races);
  races.report(self);
  slot.version.fetch_add(1, std::memory_order_acq_rel);
  slot.region = RegionId::kNone;
  self.pending &= ~bit_of(number);
  slot.version.fetch_add(1, std::memory_order_release);
}

// A slot of another thread, as it was at one moment.
struct Seen {
  const FootprintSlot* slot = nullptr;
  std::uint32_t version = 0;
  RegionId region = RegionId::kNone;
  SlimAccess access;
  Footprint footprint;

  [[nodiscard]] bool is_held() const { return slot->version.load(std::memory_order_acquire) == version; }
};

// False if there is nothing, or something that is changing.
bool look_at(const FootprintSlot& slot, Seen& seen) {
  seen.slot = &slot;
  seen.version = slot.version.load(std::memory_order_acquire);
  if (seen.version % 2 != 0) return false;
  seen.region = slot.region;
  seen.access = {slot.kind, slot.origin};
  const GrowingFootprint growing = slot.growing;
  __asm__ volatile("" ::: "memory");
  if (seen.region == RegionId::kNone || growing.is_empty() || !seen.is_held()) return false;
  seen.footprint = growing.get();
  return true;
}

}  // namespace

void begin_footprint(ThreadState& self, RegionId region, Address address, std::uint32_t size,
                     const SlimAccess& access) {
  if (self.footprints == nullptr) {
    void* memory = PageSource::try_allocate(kFootprintSlots * sizeof(FootprintSlot));
    if (memory == nullptr) {
      SlimRaces races;
      commit(self, region, {address, size, 1, size}, access, races);
      return races.report(self);
    }
    auto* slots = static_cast<FootprintSlot*>(memory);
    for (std::uint32_t index = 0; index < kFootprintSlots; ++index) new (slots + index) FootprintSlot;
    self.footprints = slots;
  }
  const std::uint32_t number = raw(access.origin) % kFootprintSlots;
  if ((self.pending & bit_of(number)) != 0) commit_slot(self, number);
  FootprintSlot& slot = self.footprints[number];
  slot.version.fetch_add(1, std::memory_order_acq_rel);
  slot.origin = access.origin;
  slot.region = region;
  slot.kind = access.kind;
  slot.growing.start(address, size);
  self.pending |= bit_of(number);
  slot.version.fetch_add(1, std::memory_order_release);
}

void commit_footprints(ThreadState& self) {
  const RuntimeScope scope;
  while (self.pending != 0) commit_slot(self, static_cast<std::uint32_t>(std::countr_zero(self.pending)));
}

void release_footprints(ThreadState& thread) {
  if (thread.footprints == nullptr) return;
  PageSource::release(thread.footprints, kFootprintSlots * sizeof(FootprintSlot));
  thread.footprints = nullptr;
}

void commit_footprints_of_others(ThreadState& self) {
  const RuntimeScope scope;
  GrowableArray<ThreadState*, PageSource> others;
  {
    SpinHolder hold(registry().lock);
    registry().keeps_all = true;
    for (ThreadState* thread = registry().first(); thread != nullptr; thread = thread->next) {
      if (thread != &self && thread->footprints != nullptr) others.push_back(thread);
    }
  }
  for (ThreadState* thread : others) {
    for (std::uint32_t number = 0; number < kFootprintSlots; ++number) {
      Seen seen;
      if (!look_at(thread->footprints[number], seen)) continue;
      SlimRaces races;
      commit(*thread, seen.region, seen.footprint, seen.access, races,
             {[](void* context) { return static_cast<Seen*>(context)->is_held(); }, &seen});
      races.report(*thread);
    }
  }
}

}  // namespace deadheat::runtime
