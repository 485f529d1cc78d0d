// SPDX-License-Identifier: Apache-2.0
// HeapTable: which block of the heap an address lies in, alive or lately freed.
//
// A report must say "byte 40 of a block of 64 bytes, allocated here, freed
// there". All that is known of a living block stands in a header of 16 bytes in
// front of it; what is missing is the way from an address in the middle to the
// block's beginning. So one bit per 16 bytes of address space says "a block
// begins here": an allocation sets it, a free clears it, and a report walks back
// to the nearest one. The bits come in regions of 4 GiB, 32 MiB of address space
// each, mapped at the first block in them and touched where blocks are: less
// than 1% of the heap. A second bitmap per region marks the pages of the first
// that were ever used, so the walk skips empty space.
//
// Freed blocks are remembered in a ring per group of threads, newest last; the
// oldest are forgotten. A report on memory freed long ago then has no
// allocation and free stacks from here, which costs words, not findings.
#pragma once

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
  std::uint32_t stack = 0;       // where it was allocated; 0: not known
  std::uint32_t thread : 24;     // who allocated it; 0: not known
  std::uint32_t offset_log : 8;  // the real block begins 2^offset_log bytes before this one
  std::uint16_t size_high = 0;
  std::uint16_t mark = 0;

  [[nodiscard]] std::size_t size() const { return (std::size_t{size_high} << 32) | size_low; }
  void set_size(std::size_t size) {
    size_low = static_cast<std::uint32_t>(size);
    size_high = static_cast<std::uint16_t>(size >> 32);
  }
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

class HeapTable {
 public:
  // A block with a complete header begins here. From any thread, at any time; before
  // the runtime is ready it does nothing, and the block stays unknown.
  static void add(Address block);
  // The block is about to go back to the allocator. On return nobody reads its
  // header any more.
  static void remove(Address block);
  // Remembers a block that was removed.
  static void remember_freed(const HeapBlock& block);

  // The living block that holds the address, else the one freed last that did,
  // else kind kUnknown. For reports: takes microseconds.
  [[nodiscard]] static HeapBlock describe(Address address);

  // In the child of a fork: threads that were describing are gone.
  static void forget_other_threads();
};

}  // namespace deadheat::runtime
