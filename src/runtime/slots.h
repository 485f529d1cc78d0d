// SPDX-License-Identifier: Apache-2.0
// Slots: the thread numbers of the shadow, 13 bits, and how they come back.
//
// An entry of the shadow says slot and short clock (19 bits). Vector clocks have
// full clocks that never wrap; base(slot) + short clock is the full one. A
// thread has a slot to itself while it lives and takes a fresh one when 2^19
// releases have used it up. A slot serves again without loss in two ways:
//
//   Continued.  The new owner knows all of the slot's past (its parent joined the
//               old owner, or is the old owner): its clock goes on from there.
//   Swept.      Every living thread knows all of the slot's past. Then no entry
//               with it can race any more: the sweep removes those entries from
//               the shadow, the base moves up to the last clock, and the slot is
//               as good as new. Clocks elsewhere need no change: what they have
//               for the slot are full clocks of the past, which stay right.
//
// known_to_all(slot) is how much of a slot every living thread knows. It only
// grows (threads learn, new ones inherit), so a value that is out of date is
// merely modest. It is worked out anew when that may help.
//
// When neither way yields a slot, the oldest slot whose owner is gone is swept
// all the same: its history is lost, and counted.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/cell_entry.h"
#include "core/epoch.h"
#include "core/vector_clock.h"
#include "model/identity.h"
#include "runtime/page_source.h"

namespace deadheat::runtime {

struct ThreadState;

inline constexpr std::uint32_t kSlotCount = ShortEpoch::kMaxSlot + 1;

// Written under the registry's lock while no entry with the slot exists; read
// without. A reader that saw an entry of before a sweep must look at the entry
// again before it reports.
[[gnu::visibility("hidden")]] extern std::atomic<std::uint64_t> slot_base[kSlotCount];
[[gnu::visibility("hidden")]] extern std::atomic<std::uint64_t> slot_known[kSlotCount];

[[nodiscard]] inline Clock full_clock(ShortEpoch epoch) {
  return slot_base[raw(epoch.slot())].load(std::memory_order_relaxed) + epoch.clock();
}
[[nodiscard]] inline Clock known_to_all(ThreadSlot slot) {
  return slot_known[raw(slot)].load(std::memory_order_relaxed);
}
// The thread that took the slot last, and the how manieth taking of all this was, in
// 32 bits each; and the clock with which it began. A thread that moves on to a
// further slot knows all it did in those before: who knows of the later slot
// knows of the earlier ones. 0: not known.
[[gnu::visibility("hidden")]] extern std::atomic<std::uint64_t> slot_taken[kSlotCount];
[[gnu::visibility("hidden")]] extern std::atomic<std::uint64_t> slot_since[kSlotCount];

// The versions of a slot's users rise with them: those of the last user come after this.
// 0: users of the slot do not know all of its past, and must do without.
[[nodiscard]] inline std::uint64_t first_version(ThreadSlot slot) {
  return slot_taken[raw(slot)].load(std::memory_order_relaxed) << 32;
}

// Whether everybody who knows the younger entry's access knows the older one's.
[[nodiscard]] inline bool is_known_with(CellEntry older, CellEntry younger) {
  if (older.has_slot_of(younger)) return older.epoch().clock() <= younger.epoch().clock();
  const std::uint64_t earlier = slot_taken[raw(older.slot())].load(std::memory_order_relaxed);
  const std::uint64_t later = slot_taken[raw(younger.slot())].load(std::memory_order_relaxed);
  if (earlier >> 32 != later >> 32 || earlier >= later || earlier == 0) return false;
  return full_clock(younger.epoch()) >= slot_since[raw(younger.slot())].load(std::memory_order_relaxed);
}

[[nodiscard]] inline ShortEpoch short_epoch(Epoch epoch) {
  return ShortEpoch(epoch.slot(), static_cast<std::uint32_t>(
                                      epoch.clock() - slot_base[raw(epoch.slot())].load(std::memory_order_relaxed)));
}

// All with the registry's lock held.

// A slot for a thread that knows `inherited`, continued if possible; the thread's
// clock then begins after inherited[slot]. Records that `thread` owns it.
[[nodiscard]] ThreadSlot take_slot(const BasicVectorClock<PageSource>& inherited, ThreadId thread);
// The owner is done with the slot; `last` is its last clock.
void retire_slot(ThreadSlot slot, Clock last);
// Who had the slot at that full clock.
[[nodiscard]] ThreadId slot_owner(ThreadSlot slot, Clock clock);
// Works out known_to_all() again.
void refresh_known_to_all();

// Takes the registry's lock: works out known_to_all() again unless that was done a
// moment ago. Called when cells run out of room.
enum class Answer : std::uint8_t { kNew, kNotNow };
Answer ask_for_known_to_all();

// Honesty counters.
struct SlotCounters {
  std::uint64_t sweeps = 0;
  std::uint64_t lost = 0;  // slots reused although their history still mattered
};
[[nodiscard]] SlotCounters slot_counters();

}  // namespace deadheat::runtime
