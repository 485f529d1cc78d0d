// SPDX-License-Identifier: Apache-2.0
#include "runtime/shadow_pages.h"

#include <sys/mman.h>

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

constexpr Address kGranule = Address{1} << kGranuleShift;
constexpr std::size_t kTableSize = kAddressEnd >> kGranuleShift;

// By granule: 1 when its pages are there. Threads that find a 0 at the same time
// both ask for the pages, which does no harm. nullptr: not to be had.
using Table = std::atomic<std::uint8_t>*;
constexpr std::size_t kTablePage = 4096;

// Those of the table that a process which samples has set.
SpinLock noting;
constinit Immortal<GrowableArray<Address, PageSource>> noted;

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
  for (Address at = begin & ~(kGranule - 1); at < end;) {
    if (table[at >> kGranuleShift].load(std::memory_order_relaxed) != 0) {
      at += kGranule;
      continue;
    }
    const Address first = at;
    while (at < end && table[at >> kGranuleShift].load(std::memory_order_relaxed) == 0) {
      table[at >> kGranuleShift].store(1, std::memory_order_relaxed);
      at += kGranule;
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
  if (table == nullptr || size < kGranule) return;
  const Address last = (begin + size) >> kGranuleShift;
  for (Address granule = (begin + kGranule - 1) >> kGranuleShift; granule < last;) {
    // Mappings can be huge, and their table as empty as they are.
    if (granule % kTablePage == 0 && last - granule >= kTablePage) {
      const std::size_t bytes = (last - granule) & ~(kTablePage - 1);
      raw_madvise(table + granule, bytes, MADV_DONTNEED);
      granule += bytes;
    } else {
      table[granule++].store(0, std::memory_order_relaxed);
    }
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
  if (flag.load(std::memory_order_relaxed) != 0) [[likely]]
    return;
  SpinHolder hold(noting);
  if (flag.exchange(1, std::memory_order_relaxed) == 0) noted->push_back(address & ~(kGranule - 1));
}

void sweep_granules(bool (*is_empty)(Address granule)) {
  const Table table = granules.load(std::memory_order_relaxed);
  if (table == nullptr) return;
  SpinHolder hold(noting);
  std::uint32_t kept = 0;
  for (const Address granule : *noted) {
    std::atomic<std::uint8_t>& flag = table[granule >> kGranuleShift];
    if (flag.load(std::memory_order_relaxed) == 0) continue;  // unmapped meanwhile
    if (is_empty(granule)) {
      flag.store(0, std::memory_order_relaxed);
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
    if (flag.load(std::memory_order_relaxed) != 0) {  // else unmapped meanwhile
      if (!may_go(granule, argument)) break;
      flag.store(0, std::memory_order_relaxed);
      raw_madvise(cell_of(granule), kGranule * 2, MADV_DONTNEED);
    }
    noted->resize(noted->size() - 1);
  }
  return noted->size();
}

void lock_granules() { noting.lock(); }
void unlock_granules() { noting.unlock(); }

}  // namespace deadheat::runtime
