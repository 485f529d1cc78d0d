// SPDX-License-Identifier: Apache-2.0
// Cell blocks: room for the entries of a word beyond the two in its cell.
//
// A word that many threads read, or whose bytes are used separately by several,
// has more entries than fit in its cell. Then the cell's second entry becomes a
// link to a block of four entries, the last of which may again become a link.
// Growing never copies a block that others may be changing: the new block gets
// the entry that the link displaces and the new one, and the compare-and-swap
// that installs the link publishes both.
//
// Looking into a block needs no lock: blocks are never unmapped, and a link
// carries a generation, so if the cell still has the same link after looking,
// the block was this cell's all the while. Changing a block does need that the
// block is not reused meanwhile: a thread announces it (BlockUse) and looks at
// the link again; a block that was unlinked is reused only after all threads
// that were announced at that time are done.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/cell_entry.h"

namespace deadheat::runtime {

struct alignas(32) CellBlock {
  static constexpr int kEntries = 4;
  std::atomic<std::uint64_t> entries[kEntries];
};

// A link is an entry with the slot that no thread has: 30 bits of block number,
// 21 of generation.
inline constexpr std::uint64_t kLinkMark = std::uint64_t{0x1fff} << 51;
[[nodiscard]] constexpr bool is_link(std::uint64_t entry) { return (entry & kLinkMark) == kLinkMark; }

[[nodiscard]] CellBlock* block_of(std::uint64_t link);

struct ThreadState;

// A block with these two entries, and the link to it; 0 if there is no memory. Each
// thread keeps a few blocks that it gave up for its next ones.
[[nodiscard]] std::uint64_t make_block(ThreadState& self, std::uint64_t first, std::uint64_t second);
// A block that was never linked.
void discard_block(std::uint64_t link);
// The chain was unlinked; its blocks are reused when nobody can be changing them.
// Takes the registry's lock now and then.
void release_chain(ThreadState& self, std::uint64_t link);

// The same without a thread of the program: they are reused some time later. With the
// registry's lock held.
void orphan_chain(std::uint64_t link);

// Blocks in use or kept by threads, for the counters.
[[nodiscard]] std::uint64_t blocks_in_use();

}  // namespace deadheat::runtime
