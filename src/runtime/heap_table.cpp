// SPDX-License-Identifier: Apache-2.0
#include "runtime/heap_table.h"

#include <sched.h>

#include <atomic>

#include "runtime/intercept/interceptor.h"
#include "runtime/page_source.h"

namespace deadheat::runtime {
namespace {

constexpr std::uint32_t kRegionLog = 32;
constexpr std::uint32_t kGranuleLog = 4;
constexpr std::uint32_t kAddressLog = 47;
constexpr std::uint32_t kWordLog = 6;                                                    // 64 bits
constexpr std::size_t kRegions = std::size_t{1} << (kAddressLog - kRegionLog);           // 32,768
constexpr std::size_t kWords = std::size_t{1} << (kRegionLog - kGranuleLog - kWordLog);  // 4 Mi
constexpr std::size_t kWordsPerPage = 512;
constexpr std::size_t kSummaryWords = kWords / kWordsPerPage / 64;

using Word = std::atomic<std::uint64_t>;

// Bits of 4 GiB of address space. Bits of `used` are set before the first bit of
// their page and never cleared.
struct Region {
  Word used[kSummaryWords];
  Word starts[kWords];
};

constinit std::atomic<Region*> regions[kRegions];
constinit std::atomic<bool> regions_refused{false};

// Threads that are reading headers of blocks they found. remove() waits for them;
// they never wait for anything.
constinit std::atomic<std::uint32_t> describing{0};

Region* region_of(Address address) {
  const std::size_t index = address >> kRegionLog;
  return index < kRegions ? regions[index].load(std::memory_order_acquire) : nullptr;  // pairs with make_region
}

Region* make_region(Address address) {
  const std::size_t index = address >> kRegionLog;
  if (index >= kRegions || regions_refused.load(std::memory_order_relaxed)) return nullptr;
  auto* fresh = static_cast<Region*>(PageSource::reserve(sizeof(Region)));
  if (fresh == nullptr) {
    regions_refused.store(true, std::memory_order_relaxed);
    return nullptr;
  }
  Region* known = nullptr;
  // Whoever loses leaves its reservation behind: address space, no memory.
  if (regions[index].compare_exchange_strong(known, fresh, std::memory_order_acq_rel)) return fresh;
  return known;
}

std::size_t word_index(Address address) {
  return (address & ((Address{1} << kRegionLog) - 1)) >> (kGranuleLog + kWordLog);
}
std::uint64_t bit_of(Address address) { return std::uint64_t{1} << ((address >> kGranuleLog) & 63); }

// The greatest set bit of `words[0 .. last]`, where bits above `last_bit` of the
// last word do not count; -1 if there is none.
std::int64_t last_set_bit(const Word* words, std::size_t last, std::uint32_t last_bit) {
  std::uint64_t mask = last_bit == 63 ? ~std::uint64_t{0} : (std::uint64_t{1} << (last_bit + 1)) - 1;
  for (std::size_t at = last + 1; at-- > 0;) {
    const std::uint64_t bits = words[at].load(std::memory_order_seq_cst) & mask;  // pairs with remove()
    if (bits != 0) return static_cast<std::int64_t>(at * 64 + 63 - static_cast<std::size_t>(__builtin_clzll(bits)));
    mask = ~std::uint64_t{0};
  }
  return -1;
}

// The nearest beginning of a block at or before bit `granule` of the region, as
// a granule number, or -1.
std::int64_t find_start(const Region& region, std::size_t granule) {
  constexpr std::size_t kGranulesPerPage = kWordsPerPage * 64;
  std::size_t page = granule / kGranulesPerPage;
  while (true) {
    const std::int64_t used = last_set_bit(region.used, page / 64, static_cast<std::uint32_t>(page % 64));
    if (used < 0) return -1;
    const auto used_page = static_cast<std::size_t>(used);
    const std::size_t last =
        used_page == granule / kGranulesPerPage ? granule % kGranulesPerPage : kGranulesPerPage - 1;
    const std::int64_t found =
        last_set_bit(region.starts + used_page * kWordsPerPage, last / 64, static_cast<std::uint32_t>(last % 64));
    if (found >= 0) return found + static_cast<std::int64_t>(used_page * kGranulesPerPage);
    if (used_page == 0) return -1;
    page = used_page - 1;
  }
}

// 0 if there is none.
Address find_block_before(Address address) {
  std::size_t index = address >> kRegionLog;
  if (index >= kRegions) return 0;
  std::size_t granule = (address & ((Address{1} << kRegionLog) - 1)) >> kGranuleLog;
  while (true) {
    if (const Region* region = regions[index].load(std::memory_order_acquire)) {
      const std::int64_t found = find_start(*region, granule);
      if (found >= 0) return (Address{index} << kRegionLog) + (static_cast<Address>(found) << kGranuleLog);
    }
    if (index-- == 0) return 0;
    granule = (std::size_t{1} << (kRegionLog - kGranuleLog)) - 1;
  }
}

// A block that was freed. `time` is written last and zeroed first, so a reader
// that finds it unchanged has read one entry.
struct FreedEntry {
  std::atomic<std::uint64_t> time;
  std::atomic<std::uint64_t> begin;
  std::atomic<std::uint64_t> size;
  std::atomic<std::uint64_t> stacks;   // allocated, freed
  std::atomic<std::uint64_t> threads;  // allocated, freed
};

constexpr std::size_t kRings = 8;
constexpr std::size_t kRingEntries = 4096;

struct FreedRing {
  std::atomic<std::uint64_t> next;
  FreedEntry entries[kRingEntries];
};

constinit std::atomic<FreedRing*> freed_rings[kRings];
constinit std::atomic<bool> rings_refused{false};

FreedRing* ring_of(std::uint32_t thread) {
  std::atomic<FreedRing*>& place = freed_rings[thread % kRings];
  FreedRing* known = place.load(std::memory_order_acquire);
  if (known != nullptr || rings_refused.load(std::memory_order_relaxed)) return known;
  auto* fresh = static_cast<FreedRing*>(PageSource::reserve(sizeof(FreedRing)));
  if (fresh == nullptr) {
    rings_refused.store(true, std::memory_order_relaxed);
    return nullptr;
  }
  return place.compare_exchange_strong(known, fresh, std::memory_order_acq_rel) ? fresh : known;
}

std::uint64_t pack(std::uint32_t first, std::uint32_t second) { return (std::uint64_t{first} << 32) | second; }

// The entry freed last that holds the address.
HeapBlock find_freed(Address address) {
  HeapBlock best;
  std::uint64_t best_time = 0;
  for (const std::atomic<FreedRing*>& place : freed_rings) {
    const FreedRing* ring = place.load(std::memory_order_acquire);
    if (ring == nullptr) continue;
    for (const FreedEntry& entry : ring->entries) {
      const std::uint64_t time = entry.time.load(std::memory_order_acquire);  // pairs with remember_freed
      if (time <= best_time) continue;
      HeapBlock block;
      block.begin = entry.begin.load(std::memory_order_relaxed);
      block.size = entry.size.load(std::memory_order_relaxed);
      if (address - block.begin >= block.size) continue;
      const std::uint64_t stacks = entry.stacks.load(std::memory_order_relaxed);
      const std::uint64_t threads = entry.threads.load(std::memory_order_relaxed);
      std::atomic_thread_fence(std::memory_order_acquire);
      if (entry.time.load(std::memory_order_relaxed) != time) continue;
      block.kind = HeapKind::kFreed;
      block.allocated_stack = static_cast<std::uint32_t>(stacks >> 32);
      block.freed_stack = static_cast<std::uint32_t>(stacks);
      block.allocated_by = static_cast<std::uint32_t>(threads >> 32);
      block.freed_by = static_cast<std::uint32_t>(threads);
      best = block;
      best_time = time;
    }
  }
  return best;
}

}  // namespace

void HeapTable::add(Address block) {
  Region* region = region_of(block);
  if (region == nullptr) [[unlikely]] {
    // The shadow chooses its place first.
    if (!runtime_is_ready.load(std::memory_order_relaxed)) return;
    region = make_region(block);
    if (region == nullptr) return;
  }
  const std::size_t word = word_index(block);
  const std::size_t page = word / kWordsPerPage;
  Word& used = region->used[page / 64];
  const std::uint64_t used_bit = std::uint64_t{1} << (page % 64);
  if ((used.load(std::memory_order_relaxed) & used_bit) == 0) [[unlikely]]
    used.fetch_or(used_bit, std::memory_order_relaxed);
  region->starts[word].fetch_or(bit_of(block), std::memory_order_release);  // publishes the header
}

void HeapTable::remove(Address block) {
  Region* region = region_of(block);
  if (region == nullptr) [[unlikely]]
    return;
  // Either describe() sees the bit gone, or we see that it is describing: both
  // sides change their own word first, in the single order of seq_cst.
  region->starts[word_index(block)].fetch_and(~bit_of(block), std::memory_order_seq_cst);
  constexpr int kPatience = 100'000;  // a lost count must not hang the program
  for (int turn = 0; describing.load(std::memory_order_seq_cst) != 0 && turn < kPatience; ++turn) sched_yield();
}

void HeapTable::remember_freed(const HeapBlock& block) {
  FreedRing* ring = ring_of(block.freed_by);
  if (ring == nullptr) return;
  FreedEntry& entry = ring->entries[ring->next.fetch_add(1, std::memory_order_relaxed) % kRingEntries];
  entry.time.store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  entry.begin.store(block.begin, std::memory_order_relaxed);
  entry.size.store(block.size, std::memory_order_relaxed);
  entry.stacks.store(pack(block.allocated_stack, block.freed_stack), std::memory_order_relaxed);
  entry.threads.store(pack(block.allocated_by, block.freed_by), std::memory_order_relaxed);
  entry.time.store(__builtin_ia32_rdtsc(), std::memory_order_release);
}

HeapBlock HeapTable::describe(Address address) {
  HeapBlock result;
  describing.fetch_add(1, std::memory_order_seq_cst);  // pairs with remove()
  const Address block = find_block_before(address);
  if (block != 0) {
    const BlockHeader& header = header_of(block);
    // A block of 0 bytes still has an address.
    if (header.mark == BlockHeader::kMark && (address - block < header.size() || address == block)) {
      result.kind = HeapKind::kLive;
      result.begin = block;
      result.size = header.size();
      result.allocated_stack = header.stack;
      result.allocated_by = header.thread;
    }
  }
  describing.fetch_sub(1, std::memory_order_seq_cst);
  return result.kind == HeapKind::kLive ? result : find_freed(address);
}

void HeapTable::forget_other_threads() { describing.store(0, std::memory_order_relaxed); }

}  // namespace deadheat::runtime
