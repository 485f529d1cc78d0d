// SPDX-License-Identifier: Apache-2.0
#include "runtime/footprints.h"

#include <new>

#include "runtime/start.h"

namespace deadheat::runtime {
namespace {

// A loop that comes so often without synchronisation in between repeats accesses of its
// own epoch. In cells that is the quickest path of all; here it costs the same each time.
constexpr std::uint32_t kManyTurns = 4;

void commit_slot(ThreadState& self, FootprintSlot& slot) {
  if (slot.region == RegionId::kNone) return;
  SlimRaces races;
  const bool wants_cells = slot.growing.turns() >= kManyTurns;
  commit(self, slot.region, slot.growing.get(), {slot.kind, slot.origin, false, wants_cells}, races);
  races.report(self);
  slot.version.fetch_add(1, std::memory_order_acq_rel);
  slot.key = 0;
  slot.region = RegionId::kNone;
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

bool make_slots(ThreadState& self) {
  void* memory = PageSource::try_allocate(sizeof(Footprints));
  if (memory == nullptr) return false;
  self.footprints = new (memory) Footprints;
  if (!takes_slow_path(self)) current.footprints = self.footprints;
  return true;
}

}  // namespace

Footprints no_footprints;

void add_to_footprint(const RegionAccess& access) {
  const RuntimeScope scope;
  ThreadState& self = *current.state;
  if (self.footprints == nullptr && !make_slots(self)) {
    SlimRaces races;
    commit(self, access.region, {access.address, access.size, 1, access.size}, access.access, races);
    return races.report(self);
  }
  Footprints& all = *self.footprints;
  const std::uint32_t number = slot_of(access.key);
  FootprintSlot& slot = all.slots[number];
  if (slot.key == access.key && slot.region == access.region && slot.growing.extends(access.address)) {
    if (slot.growing.turns() >= kManyTurns) commit_slot(self, slot);
    return;
  }
  commit_slot(self, slot);
  const RegionBounds bounds = bounds_of(access.region, access.address);
  slot.version.fetch_add(1, std::memory_order_acq_rel);
  slot.key = access.key;
  slot.low = bounds.begin;
  slot.span = bounds.end - bounds.begin - access.size;
  slot.origin = access.access.origin;
  slot.region = access.region;
  slot.kind = access.access.kind;
  slot.growing.start(access.address, access.size);
  if (!slot.is_used) all.used[all.used_count++] = static_cast<std::uint8_t>(number);
  slot.is_used = true;
  slot.version.fetch_add(1, std::memory_order_release);
}

void commit_footprints(ThreadState& self) {
  const RuntimeScope scope;
  Footprints& all = *self.footprints;
  while (all.used_count != 0) {
    FootprintSlot& slot = all.slots[all.used[all.used_count - 1]];
    commit_slot(self, slot);
    slot.is_used = false;
    --all.used_count;
  }
}

void release_footprints(ThreadState& thread) {
  if (thread.footprints == nullptr) return;
  PageSource::release(thread.footprints, sizeof(Footprints));
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
      if (!look_at(thread->footprints->slots[number], seen)) continue;
      SlimRaces races;
      commit(*thread, seen.region, seen.footprint, seen.access, races,
             {[](void* context) { return static_cast<Seen*>(context)->is_held(); }, &seen});
      races.report(*thread);
    }
  }
}

}  // namespace deadheat::runtime
