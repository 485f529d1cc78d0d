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
  std::uint64_t key = 0;  // of the origin, cache_key(); 0: nothing is pending
  GrowingFootprint growing;
  // Addresses at which an access lies in the region: [low, low + span].
  Address low = 0;
  std::uint64_t span = 0;
  OriginId origin = OriginId::kUnknown;
  RegionId region = RegionId::kNone;
  AccessKind kind = AccessKind::kRead;
  bool is_used = false;
  // Odd while the slot is given to another footprint; for other threads.
  std::atomic<std::uint32_t> version{0};
};
inline constexpr int kFootprintSlotBits = 8;
inline constexpr std::uint32_t kFootprintSlots = 1U << kFootprintSlotBits;

// Keys of nearby code are alike.
[[nodiscard, gnu::always_inline]] inline std::uint32_t slot_of(std::uint64_t key) {
  return static_cast<std::uint32_t>((key * 0x9e3779b97f4a7c15ULL) >> (64 - kFootprintSlotBits));
}

struct Footprints {
  FootprintSlot slots[kFootprintSlots];
  // Those that were in use since the last commit of all.
  std::uint8_t used[kFootprintSlots];
  std::uint32_t used_count = 0;
};

// The access of the current thread with this key is the one that its footprint
// expects, or a repetition: done. Says nothing about any other access. A footprint
// is committed before the thread can come to see its memory as part of another
// block, so what the slot says of the region still holds.
[[nodiscard, gnu::always_inline]] inline bool continues_footprint(std::uint64_t key, Address address) {
  FootprintSlot& slot = current.footprints->slots[slot_of(key)];
  if (slot.key != key) [[likely]]
    return false;
  if (!slot.growing.expects(address)) return slot.growing.repeats(address);
  // A signal handler in between would commit a footprint that is being changed.
  const RuntimeScope scope;
  __asm__ volatile("" ::: "memory");
  if (slot.key != key || !slot.growing.expects(address) || address - slot.low > slot.span) return false;
  slot.growing.advance();
  __asm__ volatile("" ::: "memory");
  return true;
}

// An access of the current thread to a region that does not continue a footprint.
struct RegionAccess {
  std::uint64_t key = 0;
  RegionId region = RegionId::kNone;
  Address address = 0;
  std::uint32_t size = 0;
  SlimAccess access;
};
[[gnu::noinline]] void add_to_footprint(const RegionAccess& access);

// Commits all that the thread has in hand. Not with a lock of the runtime held.
void commit_footprints(ThreadState& self);
[[gnu::always_inline]] inline void settle_footprints(ThreadState& self) {
  if (self.footprints != nullptr && self.footprints->used_count != 0) [[unlikely]]
    commit_footprints(self);
}

// The thread is gone.
void release_footprints(ThreadState& thread);

// At the end of the process: what the other threads have in hand.
void commit_footprints_of_others(ThreadState& self);

}  // namespace deadheat::runtime
