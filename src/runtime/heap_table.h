// SPDX-License-Identifier: Apache-2.0
// HeapTable: which block of the heap an address lies in, alive or lately freed.
//
// A report must say "byte 40 of a block of 64 bytes, allocated here, freed
// there". All that is known of a living block stands in a header of 16 bytes in
// front of it; what is missing is the way from an address in the middle to the
// block's beginning. So a byte per 32 bytes of address space says "a block begins
// here": an allocation sets it, a free clears it, and a report walks back to the
// nearest one. (With the header, no two blocks begin within 32 bytes. Bits would need
// locked instructions, which cost more than all else that is done for a block.) The
// bytes come in regions of 4 GiB, 128 MiB of address space each, mapped at the first
// block in them and touched where blocks are: 3% of the heap. A bitmap per region
// marks the pages of bytes that were ever used, so the walk skips empty space.
//
// Freed blocks are remembered in a ring per group of threads, newest last; the
// oldest are forgotten. A report on memory freed long ago then has no
// allocation and free stacks from here, which costs words, not findings.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "model/identity.h"

namespace deadheat::runtime {

// In front of every block that we gave out. The second word lies where glibc
// keeps the size of a chunk, whose upper 16 bits are always 0: `mark` tells our
// blocks from those of others.
struct BlockHeader {
  static constexpr std::uint16_t kMark = 0xd4ea;

  std::uint32_t size_low = 0;
  std::uint32_t stack = 0;           // where it was allocated; 0: not known
  std::uint32_t thread : 24 = 0;     // who allocated it; 0: not known
  std::uint32_t offset_log : 8 = 0;  // the real block begins 2^offset_log bytes before this one
  std::uint16_t size_high = 0;
  std::uint16_t mark = 0;

  [[nodiscard]] static BlockHeader of(std::size_t bytes, std::uint32_t where, std::uint32_t who,
                                      std::uint32_t real_offset_log) {
    BlockHeader header;
    header.size_low = static_cast<std::uint32_t>(bytes);
    header.stack = where;
    header.thread = who & 0xffffff;
    header.offset_log = real_offset_log & 0xff;
    header.size_high = static_cast<std::uint16_t>(bytes >> 32);
    header.mark = kMark;
    return header;
  }

  [[nodiscard]] std::size_t size() const { return (std::size_t{size_high} << 32) | size_low; }
};
static_assert(sizeof(BlockHeader) == 16);

[[nodiscard]] inline BlockHeader& header_of(Address block) {
  return *reinterpret_cast<BlockHeader*>(block - sizeof(BlockHeader));
}

enum class HeapKind : std::uint8_t { kUnknown, kLive, kFreed };

// Stacks are numbers of the stack table and threads numbers of the registry;
// 0 is "not known" in both.
struct HeapBlock {
  HeapKind kind = HeapKind::kUnknown;
  Address begin = 0;
  std::size_t size = 0;
  std::uint32_t allocated_stack = 0;
  std::uint32_t freed_stack = 0;
  std::uint32_t allocated_by = 0;
  std::uint32_t freed_by = 0;
};

// Where blocks begin in 4 GiB of address space. Bits of `used` are set before the first
// byte of their page and never cleared.
struct HeapRegion {
  static constexpr int kSizeLog = 32;
  static constexpr int kGranuleLog = 5;
  static constexpr int kPageLog = 12;  // granules
  static constexpr std::size_t kGranules = std::size_t{1} << (kSizeLog - kGranuleLog);

  std::atomic<std::uint64_t> used[(kGranules >> kPageLog) / 64];
  // 0 if no block begins there, else 1 + the half in which it does.
  std::atomic<std::uint8_t> starts[kGranules];

  [[nodiscard]] static std::size_t granule_of(Address address) {
    return (address & ((Address{1} << kSizeLog) - 1)) >> kGranuleLog;
  }
  [[nodiscard]] static std::uint8_t start_at(Address block) {
    return static_cast<std::uint8_t>(1 + ((block >> (kGranuleLog - 1)) & 1));
  }
  [[nodiscard]] bool has_used(std::size_t granule) const {
    const std::size_t page = granule >> kPageLog;
    return (used[page / 64].load(std::memory_order_relaxed) >> (page % 64) & 1) != 0;
  }
};

class HeapTable {
 public:
  // A block with a complete header begins here. From any thread, at any time; before
  // the runtime is ready it does nothing, and the block stays unknown.
  [[gnu::always_inline]] static void add(Address block) {
    HeapRegion* const region = region_of(block);
    const std::size_t granule = HeapRegion::granule_of(block);
    if (region == nullptr || !region->has_used(granule)) [[unlikely]]
      return add_first(block);
    region->starts[granule].store(HeapRegion::start_at(block), std::memory_order_release);  // publishes the header
  }
  // The block is about to go back to the allocator. On return nobody reads its
  // header any more.
  //
  // Either describe() sees the byte gone, or we see that it is describing: both sides
  // change their own word first. For either to miss the other its load would have to overtake
  // its store; describe() makes all threads pass a barrier in between, by membarrier(2). Where
  // the system has no such call, there is a barrier here.
  [[gnu::always_inline]] static void remove(Address block) {
    HeapRegion* const region = region_of(block);
    if (region == nullptr) [[unlikely]]
      return;
    region->starts[HeapRegion::granule_of(block)].store(0, std::memory_order_relaxed);
    __asm__ volatile("" ::: "memory");
    if (needs_care_.load(std::memory_order_relaxed) != 0) [[unlikely]]
      wait_for_describers();
  }
  // Remembers a block that was removed.
  static void remember_freed(const HeapBlock& block);

  // The living block that holds the address, else the one freed last that did,
  // else kind kUnknown. For reports: takes microseconds.
  [[nodiscard]] static HeapBlock describe(Address address);

  // At start, and in the child of a fork: nobody is describing.
  static void begin();
  // Where membarrier() cannot be called any more.
  static void do_without_barriers();

 private:
  [[nodiscard]] static HeapRegion* region_of(Address address) {
    const std::size_t index = address >> HeapRegion::kSizeLog;
    return index < kRegions ? regions_[index].load(std::memory_order_acquire) : nullptr;  // pairs with make_region()
  }
  static HeapRegion* make_region(Address address);
  static void add_first(Address block);
  static void wait_for_describers();
  [[nodiscard]] static Address find_block_before(Address address);

  static constexpr std::size_t kRegions = std::size_t{1} << (47 - HeapRegion::kSizeLog);
  [[gnu::visibility("hidden")]] static constinit std::atomic<HeapRegion*> regions_[kRegions];
  // Threads that are reading headers of blocks they found, and kNoBarriers. remove() waits for
  // them; they never wait for anything.
  static constexpr std::uint32_t kNoBarriers = 1U << 31;  // describe() cannot make others pass one
  [[gnu::visibility("hidden")]] static constinit std::atomic<std::uint32_t> needs_care_;
};

}  // namespace deadheat::runtime
