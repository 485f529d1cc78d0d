// SPDX-License-Identifier: Apache-2.0
// What a thread has accessed in regions (slim_regions.h) since it last
// synchronised, one footprint per origin, not yet checked.
//
// All of a stretch without synchronisation has the same clock, so it makes no
// difference when in the stretch an access is checked: whoever conflicts with it
// without order finds it in the region, or is found there by it. So a thread
// commits before its clock changes in either direction: before it publishes it,
// or others would take the accesses for done before they are there; before it
// learns, or it would take accesses of others for ordered that were not.
//
// So does a thread that frees or unmaps such memory: afterwards it is not clear
// where the accesses belong.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/footprint.h"
#include "runtime/slim_regions.h"
#include "runtime/thread_registry.h"

namespace deadheat::runtime {

struct FootprintSlot {
  OriginId origin = OriginId::kUnknown;
  RegionId region = RegionId::kNone;
  GrowingFootprint growing;
  AccessKind kind = AccessKind::kRead;
  // Odd while the slot is given to another footprint; for other threads.
  std::atomic<std::uint32_t> version{0};
};
inline constexpr std::uint32_t kFootprintSlots = 64;  // a bit each in ThreadState::pending

// The access is in no footprint of the thread: begins one. Inside a RuntimeScope.
[[gnu::noinline]] void begin_footprint(ThreadState& self, RegionId region, Address address, std::uint32_t size,
                                       const SlimAccess& access);

// An access of the current thread to a region.
template <AccessKind kKind, std::uint32_t kSize>
[[gnu::always_inline]] inline void add_to_footprint(RegionId region, Address address, OriginId origin) {
  // A signal handler in between would commit a footprint that is being changed.
  const RuntimeScope scope;
  ThreadState& self = *current.state;
  FootprintSlot* slot = self.footprints + raw(origin) % kFootprintSlots;
  if (self.footprints != nullptr && slot->origin == origin && slot->region == region) [[likely]] {
    if (slot->growing.extends(address)) [[likely]]
      return;
  }
  begin_footprint(self, region, address, kSize, {kKind, origin});
}

// Commits all that the thread has in hand. Not with a lock of the runtime held.
void commit_footprints(ThreadState& self);
[[gnu::always_inline]] inline void settle_footprints(ThreadState& self) {
  if (self.pending != 0) [[unlikely]]
    commit_footprints(self);
}

// The thread is gone.
void release_footprints(ThreadState& thread);

// At the end of the process: what the other threads have in hand.
void commit_footprints_of_others(ThreadState& self);

}  // namespace deadheat::runtime
