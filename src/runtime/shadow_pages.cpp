// SPDX-License-Identifier: Apache-2.0
#include "runtime/shadow_pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/growable_array.h"
#include "base/immortal.h"
#include "runtime/page_source.h"
#include "runtime/sampling.h"
#include "runtime/shadow_memory.h"
#include "runtime/system.h"

namespace deadheat::runtime {

std::atomic<std::atomic<std::uint8_t>*> granules{nullptr};

namespace {

constexpr std::size_t kTableSize = kAddressEnd >> kGranuleShift;

// By granule. In a process that samples a GranuleState. Otherwise pages are asked for four
// at a time, and it is 1 when they are there; threads that find a 0 at the same time
// both ask, which does no harm. nullptr: not to be had.
using Table = std::atomic<std::uint8_t>*;
constexpr std::size_t kTablePage = 4096;
constexpr int kPreparedShift = 13;
constexpr Address kPrepared = Address{1} << kPreparedShift;
constexpr Address kGranule = Address{1} << kGranuleShift;
int table_shift() { return samples ? kGranuleShift : kPreparedShift; }

constexpr std::uint8_t raw(GranuleState state) { return static_cast<std::uint8_t>(state); }

// Those with records, of a process that samples.
SpinLock noting;
constinit Immortal<GrowableArray<Address, PageSource>> noted;
constinit Immortal<GrowableArray<Address, PageSource>> gone;  // empty but while records are dropped
void set_state(Table table, Address granule, GranuleState state) {
  table[granule >> kGranuleShift].store(raw(state), std::memory_order_relaxed);
}
// Pages of cells that are kept without records: what a page fault costs, and the interruption
// of all processors when the page goes, is more than all checks of a period in that page.
constexpr std::uint32_t kMostSpare = 4096;  // 16 MB
// A granule that is unmapped with others, by the page of the table, stays counted: then fewer
// are kept.
std::atomic<std::uint32_t> spare_count{0};
void forget_spare() {
  if (spare_count.load(std::memory_order_relaxed) != 0) spare_count.fetch_sub(1, std::memory_order_relaxed);
}

// The second entries first: see unsampled.h.
void empty_granule(Address granule) {
  ShadowCell* const first = cell_of(granule);
  for (ShadowCell* cell = first; cell != first + kGranule / 8; ++cell) {
    cell->entries[1].store(0, std::memory_order_relaxed);
    cell->entries[0].store(0, std::memory_order_relaxed);
  }
}

// Gives the cells of these granules back, and those of granules between them, which have no
// records either: a call interrupts all processors, whatever it is for.
void give_back_all(GrowableArray<Address, PageSource>& list) {
  constexpr Address kSmallGap = 64 * kGranule;
  std::sort(list.begin(), list.end());
  for (std::uint32_t at = 0; at < list.size();) {
    const Address begin = list[at];
    Address end = begin + kGranule;
    while (++at < list.size() && list[at] - end <= kSmallGap) end = list[at] + kGranule;
    raw_madvise(cell_of(begin), (end - begin) * 2, MADV_DONTNEED);
  }
  list.clear();
}

constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE, which older headers lack

void populate(Address begin, Address end) {
  if (raw_madvise(cell_of(begin), (end - begin) * 2, kPopulateWrite) == 0) return;
  // An older system, or no memory left: pages come one by one, as they are needed.
  granules.store(nullptr, std::memory_order_relaxed);
}

}  // namespace

bool map_shadow_pages() {
  auto* const table = static_cast<Table>(PageSource::reserve(kTableSize));
  granules.store(table, std::memory_order_relaxed);
  return table != nullptr;
}

void prepare_cells(Address begin, std::size_t size) {
  if (samples) return;
  const Table table = granules.load(std::memory_order_relaxed);
  if (table == nullptr) return;
  const Address end = begin + size;
  for (Address at = begin & ~(kPrepared - 1); at < end;) {
    if (table[at >> kPreparedShift].load(std::memory_order_relaxed) != 0) {
      at += kPrepared;
      continue;
    }
    const Address first = at;
    while (at < end && table[at >> kPreparedShift].load(std::memory_order_relaxed) == 0) {
      table[at >> kPreparedShift].store(1, std::memory_order_relaxed);
      at += kPrepared;
    }
    populate(first, at);
  }
}

void renew_cells(Address begin, std::size_t size) {
  if (granules.load(std::memory_order_relaxed) == nullptr) return;
  raw_madvise(cell_of(begin), size * 2, MADV_DONTNEED);
  cells_are_given_back(begin, size);
  prepare_cells(begin, size);
}

void cells_are_given_back(Address begin, std::size_t size) {
  const Table table = granules.load(std::memory_order_relaxed);
  const int shift = table_shift();
  if (table == nullptr || size < Address{1} << shift) return;
  const Address last = (begin + size) >> shift;
  for (Address granule = (begin + (Address{1} << shift) - 1) >> shift; granule < last;) {
    // Mappings can be huge, and their table as empty as they are.
    if (granule % kTablePage == 0 && last - granule >= kTablePage) {
      const std::size_t bytes = (last - granule) & ~(kTablePage - 1);
      raw_madvise(table + granule, bytes, MADV_DONTNEED);
      granule += bytes;
      continue;
    }
    std::atomic<std::uint8_t>& state = table[granule++];
    if (state.load(std::memory_order_relaxed) == 0) continue;
    if (state.exchange(0, std::memory_order_relaxed) == raw(GranuleState::kSpare)) forget_spare();
  }
}

void all_cells_are_given_back() {
  const Table table = granules.load(std::memory_order_relaxed);
  if (table != nullptr) raw_madvise(table, kTableSize, MADV_DONTNEED);
}

bool may_have_records(Address begin, std::size_t size) {
  for (Address at = begin; at < begin + size; at = end_of_granule(at)) {
    if (may_have_records(at)) return true;
  }
  return false;
}

void note_record(Address address) {
  const Table table = granules.load(std::memory_order_relaxed);
  if (table == nullptr) return;
  std::atomic<std::uint8_t>& flag = table[address >> kGranuleShift];
  if (flag.load(std::memory_order_relaxed) == raw(GranuleState::kRecords)) [[likely]]
    return;
  SpinHolder hold(noting);
  const std::uint8_t before = flag.exchange(raw(GranuleState::kRecords), std::memory_order_relaxed);
  if (before == raw(GranuleState::kRecords)) return;
  if (before == raw(GranuleState::kSpare)) forget_spare();
  noted->push_back(address & ~(kGranule - 1));
}

void sweep_granules(bool (*is_empty)(Address granule)) {
  const Table table = granules.load(std::memory_order_relaxed);
  if (table == nullptr) return;
  SpinHolder hold(noting);
  std::uint32_t kept = 0;
  for (const Address granule : *noted) {
    std::atomic<std::uint8_t>& flag = table[granule >> kGranuleShift];
    if (flag.load(std::memory_order_relaxed) != raw(GranuleState::kRecords)) continue;  // unmapped meanwhile
    if (is_empty(granule)) {
      flag.store(raw(GranuleState::kNothing), std::memory_order_relaxed);
      raw_madvise(cell_of(granule), kGranule * 2, MADV_DONTNEED);
    } else {
      (*noted)[kept++] = granule;
    }
  }
  noted->resize(kept);
}

std::uint32_t drop_granules(bool (*may_go)(Address granule, void* argument), void* argument) {
  const Table table = granules.load(std::memory_order_relaxed);
  if (table == nullptr) return 1;  // nobody knows where records are
  SpinHolder hold(noting);
  while (!noted->empty()) {
    const Address granule = (*noted)[noted->size() - 1];
    std::atomic<std::uint8_t>& flag = table[granule >> kGranuleShift];
    if (flag.load(std::memory_order_relaxed) == raw(GranuleState::kRecords)) {  // else unmapped meanwhile
      if (!may_go(granule, argument)) break;
      if (spare_count.load(std::memory_order_relaxed) < kMostSpare) {
        empty_granule(granule);
        spare_count.fetch_add(1, std::memory_order_relaxed);
        set_state(table, granule, GranuleState::kSpare);
      } else {
        gone->push_back(granule);
      }
    }
    noted->pop_back();
  }
  // If some are left, cells between others may be theirs.
  if (noted->empty()) {
    for (const Address granule : *gone) set_state(table, granule, GranuleState::kNothing);
    give_back_all(*gone);
  } else {
    for (const Address granule : *gone) noted->push_back(granule);
    gone->clear();
  }
  return noted->size();
}

void lock_granules() { noting.lock(); }
void unlock_granules() { noting.unlock(); }

}  // namespace deadheat::runtime
