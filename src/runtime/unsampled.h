// SPDX-License-Identifier: Apache-2.0
// Accesses of a thread that does not sample (core/pacer.h): checked against what
// others have recorded, and removing what they make redundant. They record nothing.
//
// Nearly all memory has no record then, so this must show at a glance. Its cell is
// empty, and the inline checks of the program ask just that: they compare the first
// entry of the cell with kNoRecord instead of an epoch, all of whose bytes are 0 but
// those of the mask, which the access itself takes out again. Pages of cells that
// were never written are all the same page of zeros, which is always in the cache.
//
// Hence the rule that the first entry of a cell is empty only if all of it is. Who
// would break it leaves an entry without bytes in the first place. Two threads can
// break it together: one empties the first place, another fills the second. Both look
// at the other's place afterwards, the later one sees it, and mends it: keep_visible().
#pragma once

#include <cstdint>

#include "core/cell_entry.h"
#include "core/footprint.h"
#include "model/finding.h"
#include "model/identity.h"
#include "runtime/access_check.h"
#include "runtime/shadow_memory.h"
#include "runtime/thread_registry.h"

namespace deadheat::runtime {

// kNoRecord and kNoSecondRecord (sampling.h) are what the first entry of a cell and the
// second are compared with. No entry equals the latter: slot 0 is nobody's.

// An entry without bytes, and an epoch that no thread has: no check accepts it.
inline constexpr CellEntry kPlaceholder =
    CellEntry(ShortEpoch(ThreadSlot{0}, 2), 0, AccessKind::kWrite, OriginId::kUnknown);

// None of these bytes has a record.
[[nodiscard]] bool has_no_record(Address begin, std::size_t size);

// The thread accesses these bytes. `code_and_shape` is where (origins.h). Inside a
// RuntimeScope.
void check_unsampled(ThreadState& self, AccessKind kind, Address begin, Address end, std::uint64_t code_and_shape);
// The same for the elements of a loop.
void check_unsampled(ThreadState& self, AccessKind kind, const Footprint& footprint, std::uint64_t code_and_shape);

// An access that is not sampled, and after which the cell is as it was: it races with no entry, would take the place
// of none, and none can race no more. So it is where threads read what others have read, or what they have written
// themselves: those entries stay, and every read comes here.
[[nodiscard, gnu::always_inline]] inline bool leaves_all(const ShadowCell& cell, AccessKind kind, ByteMask mask,
                                                         const ThreadView& view) {
  const auto first = CellEntry::from_bits(cell.entries[0].load(std::memory_order_acquire));
  const auto second = CellEntry::from_bits(cell.entries[1].load(std::memory_order_acquire));
  const auto stays = [&](CellEntry entry) __attribute__((always_inline)) {
    if (!entry.has_bytes() || entry.is_mark() || view.is_obsolete(entry)) return false;
    if ((entry.mask() & mask) == 0) return true;
    return view.happened_before(entry) ? !is_write(kind) && !entry.is_subsumed_by(kind) : !entry.conflicts_with(kind);
  };
  return stays(first) && (second.is_empty() || stays(second));
}
// The same of an access that fits_words() (access_check.h); cells without entries are left as they are, too.
template <std::size_t kSize>
[[nodiscard, gnu::always_inline]] inline bool leaves_all(Address address, AccessKind kind, const ThreadView& view) {
  for (Address word = address & ~Address{7}; word < address + kSize; word += 8) {
    const ShadowCell& cell = *cell_of(word);
    if (kSize > 8 && cell.entries[0].load(std::memory_order_acquire) == 0) continue;
    if (!leaves_all(cell, kind, bytes_of_access<kSize>(address), view)) return false;
  }
  return true;
}

// The first entry of the cell shows that there is another one.
void keep_visible(ShadowCell& cell);

// What is in the cells [begin, end).
struct RecordsLeft {
  std::uint64_t live = 0;  // entries that can still race
  bool has_chains = false;
};
// Stops where more than `most` are live.
[[nodiscard]] RecordsLeft records_left(ShadowCell* begin, ShadowCell* end, std::uint64_t most);
// Removes all entries. Returns the link to those that are not in the cell itself, or 0.
// Nobody records anything meanwhile.
[[nodiscard]] std::uint64_t empty_cell(ShadowCell& cell);

// Removes entries that can race no more. The cell is empty then.
[[nodiscard]] bool tidy_cell(ShadowCell& cell);

}  // namespace deadheat::runtime
