// SPDX-License-Identifier: Apache-2.0
#include "runtime/heap_table.h"

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>

#include <atomic>

#include "runtime/intercept/interceptor.h"
#include "runtime/page_source.h"
#include "runtime/system.h"

namespace deadheat::runtime {
namespace {

constinit std::atomic<bool> regions_refused{false};

// The greatest set bit of `words[0 .. last]`, where bits above `last_bit` of the
// last word do not count; -1 if there is none.
std::int64_t last_set_bit(const std::atomic<std::uint64_t>* words, std::size_t last, std::uint32_t last_bit) {
  std::uint64_t mask = last_bit == 63 ? ~std::uint64_t{0} : (std::uint64_t{1} << (last_bit + 1)) - 1;
  for (std::size_t at = last + 1; at-- > 0;) {
    const std::uint64_t bits = words[at].load(std::memory_order_acquire) & mask;
    if (bits != 0) return static_cast<std::int64_t>(at * 64 + 63 - static_cast<std::size_t>(__builtin_clzll(bits)));
    mask = ~std::uint64_t{0};
  }
  return -1;
}

// The nearest granule at or before this one in which a block begins, or -1.
std::int64_t find_start(const HeapRegion& region, std::size_t granule) {
  constexpr std::size_t kPage = std::size_t{1} << HeapRegion::kPageLog;
  while (true) {
    const std::size_t page = granule / kPage;
    const std::int64_t used = last_set_bit(region.used, page / 64, static_cast<std::uint32_t>(page % 64));
    if (used < 0) return -1;
    const auto first = static_cast<std::size_t>(used) * kPage;
    std::size_t at = granule < first + kPage ? granule : first + kPage - 1;
    for (; at > first && region.starts[at].load(std::memory_order_acquire) == 0; --at) {
    }
    if (region.starts[at].load(std::memory_order_acquire) != 0) return static_cast<std::int64_t>(at);
    if (first == 0) return -1;
    granule = first - 1;
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

constinit std::atomic<HeapRegion*> HeapTable::regions_[kRegions];
constinit std::atomic<std::uint32_t> HeapTable::needs_care_{kNoBarriers};

HeapRegion* HeapTable::make_region(Address address) {
  const std::size_t index = address >> HeapRegion::kSizeLog;
  if (index >= kRegions || regions_refused.load(std::memory_order_relaxed)) return nullptr;
  auto* fresh = static_cast<HeapRegion*>(PageSource::reserve(sizeof(HeapRegion)));
  if (fresh == nullptr) {
    regions_refused.store(true, std::memory_order_relaxed);
    return nullptr;
  }
  HeapRegion* known = nullptr;
  // Whoever loses leaves its reservation behind: address space, no memory.
  if (regions_[index].compare_exchange_strong(known, fresh, std::memory_order_acq_rel)) return fresh;
  return known;
}

void HeapTable::add_first(Address block) {
  HeapRegion* region = region_of(block);
  if (region == nullptr) {
    // The shadow chooses its place first.
    if (!runtime_is_ready.load(std::memory_order_relaxed)) return;
    region = make_region(block);
    if (region == nullptr) return;
  }
  const std::size_t granule = HeapRegion::granule_of(block);
  const std::size_t page = granule >> HeapRegion::kPageLog;
  region->used[page / 64].fetch_or(std::uint64_t{1} << (page % 64), std::memory_order_relaxed);
  region->starts[granule].store(HeapRegion::start_at(block), std::memory_order_release);  // publishes the header
}

void HeapTable::wait_for_describers() {
  constexpr int kPatience = 100'000;                    // a lost count must not hang the program
  std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with describe()
  for (int turn = 0; (needs_care_.load(std::memory_order_seq_cst) & ~kNoBarriers) != 0 && turn < kPatience; ++turn) {
    raw_call(SYS_sched_yield);
  }
}

void HeapTable::begin() {
  const bool can = raw_call(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
  needs_care_.store(can ? 0 : kNoBarriers, std::memory_order_relaxed);
}

void HeapTable::do_without_barriers() {
  needs_care_.fetch_or(kNoBarriers, std::memory_order_seq_cst);
  raw_call(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED);  // all others see it
}

// 0 if there is none.
Address HeapTable::find_block_before(Address address) {
  std::size_t index = address >> HeapRegion::kSizeLog;
  if (index >= kRegions) return 0;
  // Of the granule of the address itself, its later half may begin a block behind the address.
  std::size_t granule = HeapRegion::granule_of(address);
  while (true) {
    if (const HeapRegion* region = regions_[index].load(std::memory_order_acquire)) {
      std::int64_t found = find_start(*region, granule);
      while (found >= 0) {
        const std::uint8_t start = region->starts[found].load(std::memory_order_acquire);
        const Address block = (Address{index} << HeapRegion::kSizeLog) +
                              (static_cast<Address>(found) << HeapRegion::kGranuleLog) + (start == 2 ? 16 : 0);
        if (start != 0 && block <= address) return block;
        found = found == 0 ? -1 : find_start(*region, static_cast<std::size_t>(found) - 1);
      }
    }
    if (index-- == 0) return 0;
    granule = HeapRegion::kGranules - 1;
  }
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
  entry.time.store(read_ticks(), std::memory_order_release);
}

HeapBlock HeapTable::describe(Address address) {
  HeapBlock result;
  needs_care_.fetch_add(1, std::memory_order_seq_cst);  // pairs with remove()
  raw_call(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED);
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
  needs_care_.fetch_sub(1, std::memory_order_seq_cst);
  return result.kind == HeapKind::kLive ? result : find_freed(address);
}

}  // namespace deadheat::runtime
