// SPDX-License-Identifier: Apache-2.0
#include "runtime/shadow_pages.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/growable_array.h"
#include "base/immortal.h"
#include "base/raw_call.h"
#include "base/spin_lock.h"
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
std::atomic<std::uint32_t> filling{0};                        // FreshGranules that there are
void set_state(Table table, Address granule, GranuleState state) {
  table[granule >> kGranuleShift].store(raw(state), std::memory_order_relaxed);
}
// Pages of cells that are there without records. They are kept up to twice as many as periods of late have
// used: what a page fault costs, and the interruption of all processors when the page goes, is more
// than all checks of a period in that page.
constexpr std::uint32_t kLeastKept = 4096;  // 16 MB
std::uint32_t most_kept = kLeastKept;
std::uint32_t used_lately = 0;  // granules with records, at most, since there were none
// A granule that is unmapped with others, by the page of the table, stays counted: then fewer
// are kept.
std::atomic<std::uint32_t> spare_count{0};
void forget_spare() {
  if (spare_count.load(std::memory_order_relaxed) != 0) spare_count.fetch_sub(1, std::memory_order_relaxed);
}
// Those that became spare, the latest last. Some are not any more, some became it twice.
constinit Immortal<GrowableArray<Address, PageSource>> spares;
void make_spare(Table table, Address granule, GranuleState state = GranuleState::kSpare) {
  spare_count.fetch_add(1, std::memory_order_relaxed);
  set_state(table, granule, state);
  spares->push_back(granule);
}
bool is_spare(std::uint8_t state) { return state == raw(GranuleState::kSpare) || state == raw(GranuleState::kStale); }
// Records that anybody may add to.
bool is_open_to_all(std::uint8_t state) {
  return state == raw(GranuleState::kRecords) || state == raw(GranuleState::kChains);
}
// One thread has it for itself.
bool is_somebodys(std::uint8_t state) {
  return state == raw(GranuleState::kFilling) || state == raw(GranuleState::kEmptying);
}
bool has_own_records(std::uint8_t state) { return is_open_to_all(state) || state == raw(GranuleState::kBulk); }

// Pages around the first record of a granule that get there with it: a fault each, and another one where a page was
// read before, take longer than to fill some pages with zeros that are not needed.
constexpr Address kWindow = 16 * kGranule;
bool take_into_window(Table table, Address granule) {
  if (table[granule >> kGranuleShift].load(std::memory_order_relaxed) != raw(GranuleState::kNothing)) return false;
  make_spare(table, granule);
  return true;
}

// The second entries first: see unsampled.h. Lines that are empty are not written: as a rule most are.
void empty_granule(Address granule) {
  constexpr std::ptrdiff_t kInLine = 64 / sizeof(ShadowCell);
  ShadowCell* const first = cell_of(granule);
  for (ShadowCell* line = first; line != first + kGranule / 8; line += kInLine) {
    std::uint64_t all = 0;
    for (ShadowCell* cell = line; cell != line + kInLine; ++cell) {
      all |= cell->entries[0].load(std::memory_order_relaxed) | cell->entries[1].load(std::memory_order_relaxed);
    }
    if (all == 0) continue;
    for (ShadowCell* cell = line; cell != line + kInLine; ++cell) {
      cell->entries[1].store(0, std::memory_order_relaxed);
      cell->entries[0].store(0, std::memory_order_relaxed);
    }
  }
}

bool has_nothing(Table table, Address begin, Address end) {
  for (Address granule = begin; granule < end; granule += kGranule) {
    if (table[granule >> kGranuleShift].load(std::memory_order_relaxed) != raw(GranuleState::kNothing)) return false;
  }
  return true;
}

// Gives the cells of these granules back, and those of granules between them that have neither
// records nor a page that is kept: a call interrupts all processors, whatever it is for.
void give_back_all(Table table, GrowableArray<Address, PageSource>& list) {
  constexpr Address kSmallGap = 64 * kGranule;
  std::sort(list.begin(), list.end());
  for (std::uint32_t at = 0; at < list.size();) {
    const Address begin = list[at];
    Address end = begin + kGranule;
    while (++at < list.size() && list[at] - end <= kSmallGap && has_nothing(table, end, list[at])) {
      end = list[at] + kGranule;
    }
    raw_madvise(cell_of(begin), (end - begin) * 2, MADV_DONTNEED);
  }
  list.clear();
}

// Leaves each granule where it is in the list for the last time.
void forget_repetitions(GrowableArray<Address, PageSource>& list) {
  constexpr int kPlaceBits = 28;
  constexpr int kNumberBits = 64 - kPlaceBits;
  static_assert(kTableSize <= Address{1} << kNumberBits);
  for (std::uint32_t at = 0; at < list.size(); ++at) list[at] = list[at] >> kGranuleShift << kPlaceBits | at;
  std::sort(list.begin(), list.end());
  std::uint32_t kept = 0;
  for (std::uint32_t at = 0; at < list.size(); ++at) {
    const bool is_last = at + 1 == list.size() || list[at + 1] >> kPlaceBits != list[at] >> kPlaceBits;
    if (is_last) list[kept++] = list[at] << kNumberBits | list[at] >> kPlaceBits;
  }
  list.resize(kept);
  std::sort(list.begin(), list.end());
  for (Address& granule : list) granule = (granule & ((Address{1} << kNumberBits) - 1)) << kGranuleShift;
}

// Of the list, those that are spare still, and each of them once, or not much more often. None of them is missing, so
// there are not more: what went with a page of the table is counted no longer.
void tidy_spares(Table table) {
  constexpr std::uint32_t kFew = 1024;
  std::uint32_t kept = 0;
  for (const Address granule : *spares) {
    const std::uint8_t state = table[granule >> kGranuleShift].load(std::memory_order_relaxed);
    if (is_spare(state) || state == raw(GranuleState::kEmptying)) (*spares)[kept++] = granule;
  }
  spares->resize(kept);
  if (kept > 2 * spare_count.load(std::memory_order_relaxed) + kFew) forget_repetitions(*spares);
  if (spare_count.load(std::memory_order_relaxed) > spares->size()) {
    spare_count.store(spares->size(), std::memory_order_relaxed);
  }
}

// Gives back what has not been used for the longest time, if too many are kept.
void trim_spares(Table table) {
  tidy_spares(table);
  const std::uint32_t less = most_kept - most_kept / 64;
  most_kept = std::max({kLeastKept, 2 * used_lately, less});
  used_lately = 0;
  const std::uint32_t count = spare_count.load(std::memory_order_relaxed);
  std::uint32_t passed = 0;
  for (std::uint32_t left = count > most_kept ? count - most_kept : 0; left != 0 && passed < spares->size(); ++passed) {
    const Address granule = (*spares)[passed];
    if (!is_spare(table[granule >> kGranuleShift].load(std::memory_order_relaxed))) continue;
    set_state(table, granule, GranuleState::kNothing);
    forget_spare();
    gone->push_back(granule);
    --left;
  }
  give_back_all(table, *gone);
  if (passed == 0) return;
  std::copy(spares->begin() + passed, spares->end(), spares->begin());
  spares->resize(spares->size() - passed);
}

template <std::uint32_t kSize>
class SmallSet {
 public:
  void set(std::uint32_t at) { bits_[at / 64] |= std::uint64_t{1} << at % 64; }
  [[nodiscard]] bool has(std::uint32_t at) const { return (bits_[at / 64] >> at % 64 & 1) != 0; }

 private:
  std::uint64_t bits_[kSize / 64] = {};
};

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
    if (is_spare(state.exchange(0, std::memory_order_relaxed))) forget_spare();
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

namespace {

// Ends kFilling or kEmptying, unless the granule was unmapped meanwhile. Pairs with note_record().
void finish(Table table, Address granule, GranuleState taken, GranuleState state) {
  std::uint8_t expected = raw(taken);
  table[granule >> kGranuleShift].compare_exchange_strong(expected, raw(state), std::memory_order_release,
                                                          std::memory_order_relaxed);
}
void finish_filling(Table table, Address granule, GranuleState state) {
  finish(table, granule, GranuleState::kFilling, state);
}
void finish_emptying(Table table, Address granule, GranuleState state) {
  finish(table, granule, GranuleState::kEmptying, state);
}

// Empties the cells of a stale granule, which is kEmptying meanwhile: checks take nothing that they find there for a
// record. False if it is not stale any more.
[[gnu::noinline]] bool empty_stale(Table table, Address granule, GranuleState afterwards) {
  {
    SpinHolder hold(noting);
    if (table[granule >> kGranuleShift].load(std::memory_order_relaxed) != raw(GranuleState::kStale)) return false;
    set_state(table, granule, GranuleState::kEmptying);
    filling.fetch_add(1, std::memory_order_relaxed);
    if (afterwards == GranuleState::kRecords) {
      forget_spare();
      noted->push_back(granule);
    }
  }
  empty_granule(granule);
  finish_emptying(table, granule, afterwards);
  filling.fetch_sub(1, std::memory_order_release);  // pairs with lock_granules()
  return true;
}

[[gnu::noinline]] void note_first_record(Table table, Address granule) {
  std::atomic<std::uint8_t>& flag = table[granule >> kGranuleShift];
  Address begin = granule;
  Address end = begin + kGranule;
  std::uint8_t state = flag.load(std::memory_order_relaxed);
  if (state == raw(GranuleState::kStale) && empty_stale(table, granule, GranuleState::kRecords)) return;
  if (state == raw(GranuleState::kBulk)) {
    flag.compare_exchange_strong(state, raw(GranuleState::kRecords), std::memory_order_acquire);
    return;
  }
  {
    SpinHolder hold(noting);
    const std::uint8_t before = flag.load(std::memory_order_acquire);  // pairs with finish_emptying()
    if (before >= raw(GranuleState::kStale)) return;
    noted->push_back(begin);
    if (before == raw(GranuleState::kSpare)) {
      flag.store(raw(GranuleState::kRecords), std::memory_order_release);  // pairs with note_record()
      return forget_spare();
    }
    flag.store(raw(GranuleState::kFilling), std::memory_order_relaxed);
    const Address window = begin & ~(kWindow - 1);
    while (begin > window && take_into_window(table, begin - kGranule)) begin -= kGranule;
    while (end < window + kWindow && take_into_window(table, end)) end += kGranule;
    // What checks have read are pages of zeros, of which each would be replaced by itself. Nobody records anything
    // here before he has had the lock, or sees that there are records.
    raw_madvise(cell_of(begin), (end - begin) * 2, MADV_DONTNEED);
    finish_filling(table, granule, GranuleState::kRecords);
  }
  raw_madvise(cell_of(begin), (end - begin) * 2, kPopulateWrite);  // if refused they come one by one
}

// Until the thread that fills the granule, or empties it, is done.
[[gnu::noinline]] void wait_while_taken(const std::atomic<std::uint8_t>& flag) {
  constexpr std::uint32_t kPatience = 1024;
  for (std::uint32_t tries = 0; is_somebodys(flag.load(std::memory_order_acquire)); ++tries) {
    if (tries < kPatience) {
      __builtin_ia32_pause();
    } else {
      raw_call(SYS_sched_yield);
    }
  }
}

}  // namespace

void note_record(Address address) {
  const Table table = granules.load(std::memory_order_relaxed);
  if (table == nullptr) return;
  std::atomic<std::uint8_t>& flag = table[address >> kGranuleShift];
  // Pairs with finish_filling().
  while (!is_open_to_all(flag.load(std::memory_order_acquire))) [[unlikely]] {
    note_first_record(table, address & ~(kGranule - 1));
    wait_while_taken(flag);
  }
}

bool note_chain(Address address) {
  const Table table = granules.load(std::memory_order_relaxed);
  if (table == nullptr) return true;
  std::uint8_t expected = raw(GranuleState::kRecords);
  return table[address >> kGranuleShift].compare_exchange_strong(expected, raw(GranuleState::kChains),
                                                                 std::memory_order_relaxed) ||
         expected == raw(GranuleState::kChains);
}

bool has_chains(Address granule) {
  const Table table = granules.load(std::memory_order_relaxed);
  return table == nullptr ||
         table[granule >> kGranuleShift].load(std::memory_order_relaxed) == raw(GranuleState::kChains);
}

bool empty_if_stale(Address address) {
  const Table table = granules.load(std::memory_order_relaxed);
  if (table == nullptr) return false;
  if (table[address >> kGranuleShift].load(std::memory_order_relaxed) != raw(GranuleState::kStale)) [[likely]]
    return false;
  return empty_stale(table, address & ~(kGranule - 1), GranuleState::kSpare);
}

FreshGranules::FreshGranules(Address begin, Address end) : begin_(begin & ~(kGranule - 1)), end_(begin_) {
  const Table table = granules.load(std::memory_order_relaxed);
  if (table == nullptr || begin >= end) return;
  // Where pages of cells have to be made.
  Address first_missing = ~Address{0};
  Address end_of_missing = 0;
  SmallSet<kMost> stale;
  {
    SpinHolder hold(noting);
    for (std::uint32_t count = 0; end_ < end && count < kMost; ++count, end_ += kGranule) {
      // Pairs with finish_emptying().
      const std::uint8_t before = table[end_ >> kGranuleShift].load(std::memory_order_acquire);
      if (before > raw(GranuleState::kStale)) break;
      const bool is_stale = before == raw(GranuleState::kStale);
      set_state(table, end_, is_stale ? GranuleState::kEmptying : GranuleState::kFilling);
      noted->push_back(end_);
      if (is_spare(before)) {
        forget_spare();
        if (is_stale) stale.set(count);
        continue;
      }
      if (first_missing > end_) first_missing = end_;
      end_of_missing = end_ + kGranule;
    }
    if (end_ != begin_) filling.fetch_add(1, std::memory_order_relaxed);
  }
  if (end_of_missing != 0) {
    // As in note_first_record(). Nothing is kept of those in between.
    raw_madvise(cell_of(first_missing), (end_of_missing - first_missing) * 2, MADV_DONTNEED);
    raw_madvise(cell_of(first_missing), (end_of_missing - first_missing) * 2, kPopulateWrite);
  }
  for (std::uint32_t count = 0; begin_ + count * kGranule < end_; ++count) {
    if (!stale.has(count)) continue;
    empty_granule(begin_ + count * kGranule);
    finish_emptying(table, begin_ + count * kGranule, GranuleState::kFilling);
  }
}

FreshGranules::~FreshGranules() {
  const Table table = granules.load(std::memory_order_relaxed);
  if (end_ == begin_ || table == nullptr) return;
  for (Address granule = begin_; granule < end_; granule += kGranule) {
    finish_filling(table, granule, GranuleState::kBulk);
  }
  filling.fetch_sub(1, std::memory_order_release);  // pairs with lock_granules()
}

BulkGranule::BulkGranule(Address address) : granule_(address & ~(kGranule - 1)) {
  const Table table = granules.load(std::memory_order_relaxed);
  if (table == nullptr) return;
  std::atomic<std::uint8_t>& flag = table[granule_ >> kGranuleShift];
  for (;;) {
    std::uint8_t state = flag.load(std::memory_order_relaxed);
    if (is_somebodys(state)) {
      wait_while_taken(flag);
      continue;
    }
    if (state != raw(GranuleState::kBulk)) return;
    is_taken_ = flag.compare_exchange_strong(state, raw(GranuleState::kFilling), std::memory_order_acquire);
    if (is_taken_) return;
  }
}

BulkGranule::~BulkGranule() {
  if (is_taken_) finish_filling(granules.load(std::memory_order_relaxed), granule_, afterwards_);
}

void note_emptied(Address granule) {
  const Table table = granules.load(std::memory_order_relaxed);
  if (table == nullptr) return;
  for (const ShadowCell *cell = cell_of(granule), *const end = cell + kGranule / 8; cell != end; ++cell) {
    const std::uint64_t both =
        cell->entries[0].load(std::memory_order_acquire) | cell->entries[1].load(std::memory_order_acquire);
    if (both != 0) return;
  }
  SpinHolder hold(noting);
  if (has_own_records(table[granule >> kGranuleShift].load(std::memory_order_relaxed))) make_spare(table, granule);
}

void sweep_granules(bool (*is_empty)(Address granule)) {
  const Table table = granules.load(std::memory_order_relaxed);
  if (table == nullptr) return;
  SpinHolder hold(noting);
  used_lately = std::max(used_lately, noted->size());
  // Those that were emptied by checks and used again have been noted again.
  std::sort(noted->begin(), noted->end());
  noted->resize(static_cast<std::uint32_t>(std::unique(noted->begin(), noted->end()) - noted->begin()));
  std::uint32_t kept = 0;
  for (const Address granule : *noted) {
    const std::atomic<std::uint8_t>& flag = table[granule >> kGranuleShift];
    if (!has_own_records(flag.load(std::memory_order_relaxed))) continue;  // unmapped meanwhile
    if (is_empty(granule)) {
      make_spare(table, granule);
    } else {
      (*noted)[kept++] = granule;
    }
  }
  noted->resize(kept);
  trim_spares(table);
}

std::uint32_t drop_granules(Drop (*what_becomes_of)(Address granule, void* argument), void* argument) {
  const Table table = granules.load(std::memory_order_relaxed);
  if (table == nullptr) return 1;  // nobody knows where records are
  SpinHolder hold(noting);
  used_lately = std::max(used_lately, noted->size());
  while (!noted->empty()) {
    const Address granule = (*noted)[noted->size() - 1];
    std::atomic<std::uint8_t>& flag = table[granule >> kGranuleShift];
    if (has_own_records(flag.load(std::memory_order_relaxed))) {  // else emptied or unmapped meanwhile
      const Drop drop = what_becomes_of(granule, argument);
      if (drop == Drop::kNo) break;
      if (drop == Drop::kEmptied) empty_granule(granule);
      make_spare(table, granule, drop == Drop::kEmptied ? GranuleState::kSpare : GranuleState::kStale);
    }
    noted->pop_back();
  }
  if (noted->empty()) trim_spares(table);
  return noted->size();
}

std::uint32_t granules_with_records() {
  SpinHolder hold(noting);
  return noted->size();
}

std::uint32_t spares_listed() {
  SpinHolder hold(noting);
  return spares->size();
}

// In the child of a fork nobody would go on filling.
void lock_granules() {
  noting.lock();
  while (filling.load(std::memory_order_acquire) != 0) raw_call(SYS_sched_yield);  // pairs with ~FreshGranules()
}
void unlock_granules() { noting.unlock(); }
void unlock_granules_in_child() {
  const Table table = granules.load(std::memory_order_relaxed);
  for (std::uint32_t at = 0; samples && table != nullptr && at < noted->size(); ++at) {
    const Address granule = (*noted)[at];
    if (table[granule >> kGranuleShift].load(std::memory_order_relaxed) != raw(GranuleState::kFilling)) continue;
    empty_granule(granule);
    set_state(table, granule, GranuleState::kRecords);
  }
  noting.unlock();
}

}  // namespace deadheat::runtime
