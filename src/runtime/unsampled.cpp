// SPDX-License-Identifier: Apache-2.0
#include "runtime/unsampled.h"

#include "core/cell_rules.h"
#include "runtime/access_check.h"
#include "runtime/cell_blocks.h"
#include "runtime/cell_chains.h"
#include "runtime/origins.h"
#include "runtime/sampling.h"
#include "runtime/shadow_pages.h"

namespace deadheat::runtime {
namespace {

[[nodiscard]] bool is_known_to_all(CellEntry entry) { return full_clock(entry.epoch()) <= known_to_all(entry.slot()); }

// Calls visit for each place of an entry behind the first, links left out.
template <class Visit>
void for_each_further_place(ShadowCell& cell, Visit&& visit) {
  std::uint64_t next = cell.entries[1].load(std::memory_order_seq_cst);
  if (!is_link(next)) return visit(cell.entries[1]);
  while (is_link(next)) {
    CellBlock* block = block_of(next);
    next = 0;
    for (std::atomic<std::uint64_t>& place : block->entries) {
      const std::uint64_t bits = place.load(std::memory_order_seq_cst);
      if (is_link(bits)) {
        next = bits;
      } else {
        visit(place);
      }
    }
  }
}

[[nodiscard]] bool has_further_entries(ShadowCell& cell) {
  bool has_any = false;
  for_each_further_place(cell, [&](const std::atomic<std::uint64_t>& place) {
    const std::uint64_t bits = place.load(std::memory_order_seq_cst);
    has_any |= is_link(bits) || CellEntry::from_bits(bits).has_bytes();
  });
  return has_any;
}

// What becomes of an entry, and whether it is a race.
struct Verdict {
  CellEntry left;
  bool races = false;
};

// An entry that changes meanwhile is judged again, so what is caught was there.
template <class Judge>
void judge_place(std::atomic<std::uint64_t>& place, CaughtRaces& caught, Judge&& judge) {
  for (;;) {
    const std::uint64_t bits = place.load(std::memory_order_seq_cst);
    if (bits == 0 || is_link(bits)) return;
    const Verdict verdict = judge(CellEntry::from_bits(bits));
    const std::uint64_t left = verdict.left.bits();
    const bool is_done =
        left == bits ? place.load(std::memory_order_seq_cst) == bits : replace_entry(place, bits, left);
    if (!is_done) continue;
    if (verdict.races) caught.add(CellEntry::from_bits(bits));
    return;
  }
}

// All entries; the first keeps its place as long as there are others.
template <class Judge>
void judge_cell(ShadowCell& cell, CaughtRaces& caught, Judge&& judge) {
  for_each_further_place(cell, [&](std::atomic<std::uint64_t>& place) {
    judge_place(place, caught, [&](CellEntry entry) {
      const Verdict verdict = judge(entry);
      return verdict.left.has_bytes() ? verdict : Verdict{CellEntry{}, verdict.races};
    });
  });
  judge_place(cell.entries[0], caught, [&](CellEntry entry) {
    const Verdict verdict = entry.has_bytes() ? judge(entry) : Verdict{entry};
    return verdict.left.has_bytes() || has_further_entries(cell) ? verdict : Verdict{CellEntry{}, verdict.races};
  });
  keep_visible(cell);
}

void check_word(ThreadState& self, ShadowCell& cell, CellAccess access, Address word, std::uint64_t code_and_shape) {
  CaughtRaces caught;
  {
    // Blocks of the chain are not reused before this is done.
    const BlockUse use(self);
    const ThreadView view(self);
    judge_cell(cell, caught, [&](CellEntry entry) {
      return Verdict{left_by_unsampled(entry, access, view), is_race(entry, access, view)};
    });
  }
  if (caught.count == 0) return;
  access.origin = origin_of(self, code_and_shape);
  caught.report(self, access, word);
}

// The common cases: the cell's only entry is ordered before the access, or such that it
// cannot race with it and stays. False when it is another case. While it is quiet (sampling.h) entries only go, and an
// entry that goes as a whole can do so by a store: whoever else takes some of it away takes no more.
[[gnu::always_inline]] inline bool settle_alone(ShadowCell& cell, const CellAccess& access, const ThreadView& view,
                                                bool is_quiet) {
  const std::uint64_t bits = cell.entries[0].load(std::memory_order_acquire);
  if (cell.entries[1].load(std::memory_order_acquire) != 0) return false;
  const CellEntry entry = CellEntry::from_bits(bits);
  if (!view.happened_before(entry)) {
    const bool collides = entry.conflicts_with(access.kind) && (entry.mask() & access.mask) != 0;
    return !collides && entry.has_bytes() && !view.is_obsolete(entry);
  }
  const CellEntry left = left_by_unsampled(entry, access, view);
  if (left == entry) return cell.entries[0].load(std::memory_order_acquire) == bits;
  if (is_quiet && !left.has_bytes()) {
    cell.entries[0].store(0, std::memory_order_release);
    return true;
  }
  if (!replace_entry(cell.entries[0], bits, left.has_bytes() ? left.bits() : 0)) return false;
  if (cell.entries[1].load(std::memory_order_seq_cst) != 0) [[unlikely]]
    keep_visible(cell);
  return true;
}

// The first of the cells [cell, end) that is not empty; `end` if there is none. Four side by side at a time.
[[gnu::always_inline]] inline ShadowCell* skip_empty(ShadowCell* cell, ShadowCell* end) {
  const auto first_of = [](const ShadowCell& one) { return one.entries[0].load(std::memory_order_acquire); };
  while (end - cell >= 4) {
    if ((first_of(cell[0]) | first_of(cell[1]) | first_of(cell[2]) | first_of(cell[3])) != 0) break;
    cell += 4;
  }
  while (cell != end && first_of(*cell) == 0) ++cell;
  return cell;
}

}  // namespace

void keep_visible(ShadowCell& cell) {
  while (cell.entries[0].load(std::memory_order_seq_cst) == 0 && has_further_entries(cell)) {
    std::uint64_t expected = 0;
    cell.entries[0].compare_exchange_strong(expected, kPlaceholder.bits(), std::memory_order_seq_cst);
  }
}

bool has_no_record(Address begin, std::size_t size) {
  const Address end = begin + size;
  for (Address first = begin & ~Address{7}; first < end; first = end_of_granule(first)) {
    if (!may_have_records(first)) continue;
    const Address last = end < end_of_granule(first) ? end : end_of_granule(first);
    ShadowCell* const cells_end = cell_of(last - 1) + 1;
    if (skip_empty(cell_of(first), cells_end) != cells_end) return false;
  }
  return true;
}

void check_unsampled(ThreadState& self, AccessKind kind, Address begin, Address end, std::uint64_t code_and_shape) {
  CellAccess access{short_epoch(self.clock.epoch()), 0, kind, OriginId::kUnknown};
  const ThreadView view(self);
  const LongSamplingEvent timed(self, end - begin);
  const bool is_quiet = quiet_time.load(std::memory_order_relaxed) != 0;
  for (Address first = begin & ~Address{7}; first < end; first = end_of_granule(first)) {
    if (!may_have_records(first)) continue;
    const Address last = end < end_of_granule(first) ? end : end_of_granule(first);
    ShadowCell* const cells = cell_of(first);
    ShadowCell* const cells_end = cell_of(last - 1) + 1;
    bool is_emptied = true;
    for (ShadowCell* cell = skip_empty(cells, cells_end); cell != cells_end; cell = skip_empty(cell + 1, cells_end)) {
      const Address word = first + static_cast<Address>(cell - cells) * 8;
      access.mask = bytes_in_word(word, begin, end);
      ++self.sampling.checked_accesses[is_write(kind) ? 1 : 0];
      if (!settle_alone(*cell, access, view, is_quiet)) check_word(self, *cell, access, word, code_and_shape);
      is_emptied &= cell->entries[0].load(std::memory_order_relaxed) == 0;
    }
    if (is_quiet && is_emptied && last - first == Address{1} << kGranuleShift) note_emptied(first);
  }
}

std::uint64_t live_records(ShadowCell& cell) {
  std::uint64_t count = 0;
  const auto look_at = [&](const std::atomic<std::uint64_t>& place) {
    const std::uint64_t bits = place.load(std::memory_order_acquire);
    const CellEntry entry = CellEntry::from_bits(bits);
    count += bits != 0 && !is_link(bits) && entry.has_bytes() && !is_known_to_all(entry) ? 1 : 0;
  };
  look_at(cell.entries[0]);
  for_each_further_place(cell, look_at);
  return count;
}

std::uint64_t empty_cell(ShadowCell& cell) {
  const std::uint64_t second = cell.entries[1].exchange(0, std::memory_order_seq_cst);
  cell.entries[0].store(0, std::memory_order_seq_cst);
  return is_link(second) ? second : 0;
}

bool tidy_cell(ShadowCell& cell) {
  if (cell.entries[0].load(std::memory_order_acquire) != 0) {
    CaughtRaces none;
    judge_cell(cell, none,
               [](CellEntry entry) { return Verdict{is_known_to_all(entry) ? entry.without_bytes(0xff) : entry}; });
  }
  return cell.entries[0].load(std::memory_order_acquire) == 0 &&
         !is_link(cell.entries[1].load(std::memory_order_acquire));
}

}  // namespace deadheat::runtime
