// SPDX-License-Identifier: Apache-2.0
#include "runtime/fresh_cells.h"

#include <atomic>

#include "runtime/access_check.h"
#include "runtime/settle.h"
#include "runtime/shadow_memory.h"
#include "runtime/shadow_pages.h"
#include "runtime/unsampled.h"

namespace deadheat::runtime {
namespace {

void put(Address word, CellEntry own, ByteMask mask) {
  cell_of(word)->entries[0].store(own.without_bytes(0xff).with_bytes(mask).bits(), std::memory_order_relaxed);
}

// One access to many cells of a granule that the thread has taken. Cells side by side have the same entries, mostly,
// and then what is right for one is right for the next.
template <AccessKind kKind>
class BulkRecord {
 public:
  BulkRecord(CellEntry own, const ThreadView& view) : own_(own.without_bytes(0xff)), view_(view) {}

  // False: it needs more than a store.
  [[gnu::always_inline]] bool add(ShadowCell& cell, ByteMask mask) {
    const std::uint64_t first = cell.entries[0].load(std::memory_order_acquire);
    const std::uint64_t second = cell.entries[1].load(std::memory_order_acquire);
    if (first != before_[0] || second != before_[1] || mask != mask_) {
      // From what was seen, and only from that: a thread that does not sample may take entries away meanwhile.
      std::uint64_t after[2] = {first, second};
      if (!has_settled(first, mask) && !has_settled(second, mask) &&
          !settle_by_store<kKind>(after, own_.with_bytes(mask), view_)) {
        return false;
      }
      mask_ = mask;
      before_[0] = first;
      before_[1] = second;
      after_[0] = after[0];
      after_[1] = after[1];
      has_filled_second_ |= after_[1] != second;
    }
    if (after_[0] != first) cell.entries[0].store(after_[0], std::memory_order_release);
    if (after_[1] != second) cell.entries[1].store(after_[1], std::memory_order_release);
    return true;
  }

  // A thread that does not sample yet may have emptied first places meanwhile (unsampled.h).
  void finish(Address begin, Address end) const {
    if (!has_filled_second_ || begin >= end) return;
    std::atomic_thread_fence(std::memory_order_seq_cst);
    for (ShadowCell *cell = cell_of(begin), *const last = cell_of(end - 1); cell <= last; ++cell) {
      if (cell->entries[0].load(std::memory_order_relaxed) == 0) keep_visible(*cell);
    }
  }

 private:
  // As is_settled() (access_check.h).
  [[nodiscard, gnu::always_inline]] bool has_settled(std::uint64_t entry, ByteMask mask) const {
    const std::uint64_t mask_bits = std::uint64_t{mask} << CellEntry::kMaskShift;
    return ((entry ^ own_.with_bytes(mask).bits()) & CellEntry::care_bits(kKind, mask_bits)) == 0;
  }

  const CellEntry own_;
  const ThreadView& view_;
  ByteMask mask_ = 0;
  std::uint64_t before_[2] = {};  // of the cell that was looked at last
  std::uint64_t after_[2] = {};
  bool has_filled_second_ = false;
};

template <AccessKind kKind>
Address record_words(Address begin, Address end, CellEntry own, const ThreadView& view) {
  BulkRecord<kKind> record(own, view);
  Address word = begin & ~Address{7};
  while (word < end && record.add(*cell_of(word), bytes_in_word(word, begin, end))) word += 8;
  const Address done = word < begin ? begin : word < end ? word : end;
  record.finish(begin, done);
  return done;
}

template <AccessKind kKind>
Address record_elements(const Footprint& elements, CellEntry own, const ThreadView& view) {
  BulkRecord<kKind> record(own, view);
  const ByteMask mask = bytes_in_word(elements.begin & ~Address{7}, elements.begin, elements.begin + elements.size);
  const Address end = elements.end();
  Address element = elements.begin;
  while (element < end && record.add(*cell_of(element), mask)) element += elements.step;
  record.finish(elements.begin, element < end ? element : end);
  return element;
}

}  // namespace

Address fill_fresh_cells(Address begin, Address end, CellEntry own) {
  const FreshGranules fresh(begin, end);
  const Address last = fresh.end() < end ? fresh.end() : end;
  if (last <= begin) return begin;
  const Address first_whole = (begin + 7) & ~Address{7};
  const Address end_of_whole = last & ~Address{7};
  if (first_whole > end_of_whole) {
    put(begin & ~Address{7}, own, bytes_in_word(begin & ~Address{7}, begin, last));
    return last;
  }
  if (begin != first_whole) put(first_whole - 8, own, bytes_in_word(first_whole - 8, begin, last));
  const std::uint64_t whole = own.with_bytes(0xff).bits();
  ShadowCell* const cells_end = cell_of(first_whole) + (end_of_whole - first_whole) / 8;
  for (ShadowCell* cell = cell_of(first_whole); cell != cells_end; ++cell) {
    cell->entries[0].store(whole, std::memory_order_relaxed);
  }
  if (last != end_of_whole) put(end_of_whole, own, bytes_in_word(end_of_whole, begin, last));
  return last;
}

Address fill_fresh_cells(const Footprint& elements, CellEntry own) {
  const Address end = elements.end();
  // Granules between elements that are far apart are nobody's.
  const bool is_close = elements.step <= Address{1} << kGranuleShift;
  const FreshGranules fresh(elements.begin, is_close ? end : end_of_granule(elements.begin));
  const Address last = fresh.end() < end ? fresh.end() : end;
  const ByteMask mask = bytes_in_word(elements.begin & ~Address{7}, elements.begin, elements.begin + elements.size);
  const std::uint64_t entry = own.without_bytes(0xff).with_bytes(mask).bits();
  Address element = elements.begin;
  for (; element < last; element += elements.step) {
    cell_of(element)->entries[0].store(entry, std::memory_order_relaxed);
  }
  return element;
}

Address record_in_bulk(Address begin, Address end, CellEntry own, const ThreadView& view) {
  return own.kind() == AccessKind::kWrite ? record_words<AccessKind::kWrite>(begin, end, own, view)
                                          : record_words<AccessKind::kRead>(begin, end, own, view);
}

Address record_in_bulk(const Footprint& elements, CellEntry own, const ThreadView& view) {
  return own.kind() == AccessKind::kWrite ? record_elements<AccessKind::kWrite>(elements, own, view)
                                          : record_elements<AccessKind::kRead>(elements, own, view);
}

}  // namespace deadheat::runtime
