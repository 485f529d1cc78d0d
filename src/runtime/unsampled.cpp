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

// What becomes of the only entry of a cell; kNo: it is another case.
enum class Alone : std::uint8_t { kNo, kStays, kShrinks, kGoes };

// The common cases: the cell's only entry, which was `bits`, is ordered before the access, or such that it
// cannot race with it and stays. While it is quiet (sampling.h) entries only go, and an
// entry that goes as a whole can do so by a store: whoever else takes some of it away takes no more.
[[gnu::always_inline]] inline Alone settle_alone(ShadowCell& cell, std::uint64_t bits, const CellAccess& access,
                                                 const ThreadView& view, bool is_quiet) {
  if (cell.entries[1].load(std::memory_order_acquire) != 0) return Alone::kNo;
  const CellEntry entry = CellEntry::from_bits(bits);
  if (!view.happened_before(entry)) {
    const bool collides = entry.conflicts_with(access.kind) && (entry.mask() & access.mask) != 0;
    return !collides && entry.has_bytes() && !view.is_obsolete(entry) ? Alone::kStays : Alone::kNo;
  }
  const CellEntry left = left_by_unsampled(entry, access, view);
  if (left == entry) return cell.entries[0].load(std::memory_order_acquire) == bits ? Alone::kStays : Alone::kNo;
  const Alone result = left.has_bytes() ? Alone::kShrinks : Alone::kGoes;
  if (is_quiet && result == Alone::kGoes) {
    cell.entries[0].store(0, std::memory_order_release);
    return result;
  }
  if (!replace_entry(cell.entries[0], bits, left.has_bytes() ? left.bits() : 0)) return Alone::kNo;
  if (cell.entries[1].load(std::memory_order_seq_cst) != 0) [[unlikely]]
    keep_visible(cell);
  return result;
}

// The same for a cell of two entries, as two threads leave them that read the same; while it is quiet. Each goes as a
// whole or stays as it is.
[[gnu::always_inline]] inline bool settle_two(ShadowCell& cell, const CellAccess& access, const ThreadView& view) {
  const std::uint64_t second = cell.entries[1].load(std::memory_order_acquire);
  const std::uint64_t first = cell.entries[0].load(std::memory_order_acquire);
  if (second == 0 || is_link(second)) return false;
  const auto stays = [&](CellEntry entry, bool& goes) {
    if (entry.is_mark() || is_race(entry, access, view)) return false;
    const CellEntry left = left_by_unsampled(entry, access, view);  // of a placeholder nothing, as it was before
    goes = !left.has_bytes();
    return goes || left == entry;
  };
  bool first_goes = false;
  bool second_goes = false;
  if (!stays(CellEntry::from_bits(first), first_goes) || !stays(CellEntry::from_bits(second), second_goes))
    return false;
  if (second_goes) cell.entries[1].store(0, std::memory_order_release);
  if (first_goes) cell.entries[0].store(second_goes ? 0 : kPlaceholder.bits(), std::memory_order_release);
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

// Accesses of a thread that does not sample, from one place in the code.
class Unsampled {
 public:
  Unsampled(ThreadState& self, AccessKind kind, std::uint64_t code_and_shape)
      : self_(self),
        view_(self),
        access_{short_epoch(self.clock.epoch()), 0, kind, OriginId::kUnknown},
        code_and_shape_(code_and_shape) {
    look_whether_quiet();
  }

  // It may have become so since the event began, and stays so until it ends.
  void look_whether_quiet() { is_quiet_ = quiet_time.load(std::memory_order_relaxed) != 0; }

  // To these bytes of a word whose cell is not empty.
  [[gnu::always_inline]] void check(ShadowCell& cell, Address word, ByteMask mask) {
    access_.mask = mask;
    ++self_.sampling.checked_accesses[is_write(access_.kind) ? 1 : 0];
    const std::uint64_t before = cell.entries[0].load(std::memory_order_acquire);
    const Alone settled = settle_alone(cell, before, access_, view_, is_quiet_);
    if (settled == Alone::kNo) {
      if (is_quiet_ && settle_two(cell, access_, view_)) return;
      return check_word(self_, cell, access_, word, code_and_shape_);
    }
    if (is_quiet_ && mask == 0xff && (before & CellEntry::kMaskBits) != 0) {
      // Not what is in the cell by now: another thread, which knows more, may have emptied it.
      known_ = before & kEpochAndKind;
      known_goes_ = settled == Alone::kGoes;
    }
  }
  // To all bytes of as many words, whose entries are like one that was settled before, by epoch and kind: then so are
  // they. False if they are not. It is quiet.
  static constexpr std::ptrdiff_t kSideBySide = 4;
  [[nodiscard, gnu::always_inline]] bool check_alike(ShadowCell* cells) {
    std::uint64_t other = 0;
    bool has_bytes = true;
    for (std::ptrdiff_t at = 0; at < kSideBySide; ++at) {
      const std::uint64_t first = cells[at].entries[0].load(std::memory_order_acquire);
      other |= ((first ^ known_) & kEpochAndKind) | cells[at].entries[1].load(std::memory_order_acquire);
      has_bytes &= (first & CellEntry::kMaskBits) != 0;
    }
    if (other != 0 || !has_bytes) return false;
    self_.sampling.checked_accesses[is_write(access_.kind) ? 1 : 0] += kSideBySide;
    if (!known_goes_) return true;
    for (std::ptrdiff_t at = 0; at < kSideBySide; ++at) cells[at].entries[0].store(0, std::memory_order_release);
    return true;
  }
  [[nodiscard]] bool is_quiet() const { return is_quiet_; }

 private:
  static constexpr std::uint64_t kEpochAndKind = ~std::uint64_t{0} << CellEntry::kEpochShift | CellEntry::kKindBits;

  ThreadState& self_;
  const ThreadView view_;
  CellAccess access_;
  const std::uint64_t code_and_shape_;
  bool is_quiet_ = false;
  std::uint64_t known_ = 0;  // epoch and kind of an entry whose fate is known, if all of its word is accessed
  bool known_goes_ = false;
};

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
  Unsampled unsampled(self, kind, code_and_shape);
  const LongSamplingEvent timed(self, end - begin);
  for (Address first = begin & ~Address{7}; first < end; first = end_of_granule(first)) {
    if (!may_have_records(first)) continue;
    const Address last = end < end_of_granule(first) ? end : end_of_granule(first);
    ShadowCell* const cells = cell_of(first);
    ShadowCell* const cells_end = cell_of(last - 1) + 1;
    bool is_emptied = true;
    unsampled.look_whether_quiet();
    for (ShadowCell* cell = skip_empty(cells, cells_end); cell != cells_end; cell = skip_empty(cell + 1, cells_end)) {
      const Address word = first + static_cast<Address>(cell - cells) * 8;
      const bool is_whole = word >= begin && last - word >= 8 * Unsampled::kSideBySide;
      if (unsampled.is_quiet() && is_whole && unsampled.check_alike(cell)) {
        cell += Unsampled::kSideBySide - 1;
        is_emptied &= cell->entries[0].load(std::memory_order_relaxed) == 0;
        continue;
      }
      unsampled.check(*cell, word, bytes_in_word(word, begin, end));
      is_emptied &= cell->entries[0].load(std::memory_order_relaxed) == 0;
    }
    if (unsampled.is_quiet() && is_emptied && last - first == Address{1} << kGranuleShift) note_emptied(first);
  }
}

void check_unsampled(ThreadState& self, AccessKind kind, const Footprint& footprint, std::uint64_t code_and_shape) {
  const Address end = footprint.end();
  if (footprint.is_dense()) return check_unsampled(self, kind, footprint.begin, end, code_and_shape);
  Unsampled unsampled(self, kind, code_and_shape);
  const LongSamplingEvent timed(self, end - footprint.begin);
  Address next_granule = 0;
  for (Address element = footprint.begin; element < end;) {
    const Address granule_end = end_of_granule(element);
    if (element + footprint.size <= granule_end && !may_have_records(element)) {
      // None of those that lie in it as a whole.
      element += ((granule_end - footprint.size - element) / footprint.step + 1) * footprint.step;
      continue;
    }
    const Address element_end = element + footprint.size;
    if (element >= next_granule) {
      next_granule = granule_end;
      unsampled.look_whether_quiet();
    }
    const bool is_over_edge = element_end > granule_end;
    for (Address word = element & ~Address{7}; word < element_end; word += 8) {
      if (is_over_edge && !may_have_records(word)) continue;  // one of the two granules
      ShadowCell& cell = *cell_of(word);
      if (cell.entries[0].load(std::memory_order_acquire) == 0) continue;
      unsampled.check(cell, word, bytes_in_word(word, element, element_end));
    }
    element += footprint.step;
  }
}

RecordsLeft records_left(ShadowCell* begin, ShadowCell* end, std::uint64_t most) {
  RecordsLeft left;
  // Neighbours are of the same epoch, mostly.
  ShortEpoch epoch;
  bool is_known = true;
  const auto look_at = [&](const std::atomic<std::uint64_t>& place) {
    const std::uint64_t bits = place.load(std::memory_order_acquire);
    const CellEntry entry = CellEntry::from_bits(bits);
    if (bits == 0 || is_link(bits) || !entry.has_bytes()) return;
    if (entry.epoch() != epoch) {
      epoch = entry.epoch();
      is_known = is_known_to_all(entry);
    }
    left.live += is_known ? 0 : 1;
  };
  // Four words side by side that have one entry each, of the epoch that was seen last.
  const auto is_usual = [&](const ShadowCell* cell) {
    constexpr std::uint64_t kEpochBits = ~std::uint64_t{0} << CellEntry::kEpochShift;
    const std::uint64_t bits = std::uint64_t{epoch.bits()} << CellEntry::kEpochShift;
    std::uint64_t other = 0;
    bool has_bytes = true;
    for (int at = 0; at < 4; ++at) {
      const std::uint64_t first = cell[at].entries[0].load(std::memory_order_acquire);
      other |= ((first ^ bits) & kEpochBits) | cell[at].entries[1].load(std::memory_order_acquire);
      has_bytes &= (first & CellEntry::kMaskBits) != 0;
    }
    return other == 0 && has_bytes;
  };
  for (ShadowCell* cell = skip_empty(begin, end); cell != end && left.live <= most; cell = skip_empty(cell + 1, end)) {
    if (end - cell >= 4 && is_usual(cell)) {
      left.live += is_known ? 0 : 4;
      cell += 3;
      continue;
    }
    look_at(cell->entries[0]);
    const std::uint64_t second = cell->entries[1].load(std::memory_order_acquire);
    if (second == 0) continue;
    left.has_chains |= is_link(second);
    for_each_further_place(*cell, look_at);
  }
  return left;
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
  return cell.entries[0].load(std::memory_order_acquire) == 0 && cell.entries[1].load(std::memory_order_acquire) == 0;
}

}  // namespace deadheat::runtime
