// SPDX-License-Identifier: Apache-2.0
// Cells with more than two entries: the same protocol as in on_access.cpp over a
// chain of blocks (cell_blocks.h). Slower, and rarer: a chain goes back to a plain
// cell as soon as two entries suffice.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/cell_rules.h"
#include "model/identity.h"
#include "runtime/access_check.h"
#include "runtime/cell_blocks.h"
#include "runtime/shadow_memory.h"
#include "runtime/thread_registry.h"

namespace deadheat::runtime {

// Races of one access with the entries of one cell, reported when it is known
// that the entries were really there. More than these at once are counted.
struct CaughtRaces {
  static constexpr int kLimit = 32;
  CellEntry entries[kLimit];
  int count = 0;

  void add(CellEntry entry);
  void report(ThreadState& self, const CellAccess& access, Address word) const;
};

// The thread is changing blocks, or moving entries from one place to another. A
// block is not reused, and a slot not recycled, before it is done.
class BlockUse {
 public:
  explicit BlockUse(ThreadState& self) : self_(self) { self_.uses_block.store(true, std::memory_order_seq_cst); }
  ~BlockUse() { self_.uses_block.store(false, std::memory_order_release); }
  BlockUse(const BlockUse&) = delete;
  BlockUse& operator=(const BlockUse&) = delete;

 private:
  ThreadState& self_;
};

// Calls visit for the places of a cell and its chain, with those of the links; not for
// the cell's own link.
template <class Visit>
[[gnu::always_inline]] inline void for_each_place(ShadowCell& cell, std::uint64_t link, Visit&& visit) {
  visit(cell.entries[0], cell.entries[0].load(std::memory_order_seq_cst));
  for (std::uint64_t next = link; is_link(next);) {
    CellBlock* block = block_of(next);
    for (std::atomic<std::uint64_t>& entry : block->entries) {
      next = entry.load(std::memory_order_seq_cst);
      visit(entry, next);
    }
  }
}

// Stands for all that was seen in a chain: what differs has another one, but for a
// chance that is smaller than that of a machine error.
class ChainHash {
 public:
  void add(std::uint64_t entry) { hash_ = (hash_ ^ entry) * 0xd6e8feb86659fd93ULL + 1; }
  friend bool operator==(ChainHash, ChainHash) = default;

 private:
  std::uint64_t hash_ = 0;
};

// kAgain: the cell changed meanwhile; nothing was done.
enum class Outcome : std::uint8_t { kDone, kAgain };

[[gnu::always_inline]] inline bool replace_entry(std::atomic<std::uint64_t>& entry, std::uint64_t expected,
                                                 std::uint64_t value) {
  if (update_mode.load(std::memory_order_relaxed) == UpdateMode::kAlone) {
    entry.store(value, std::memory_order_relaxed);
    return true;
  }
  if (update_mode.load(std::memory_order_relaxed) == UpdateMode::kInterrupted) {
    bool done = false;
    __asm__ volatile("cmpxchg %3, %1" : "=@ccz"(done), "+m"(entry), "+a"(expected) : "r"(value) : "memory");
    return done;
  }
  // seq_cst: a full barrier before the look at the other entries.
  return entry.compare_exchange_strong(expected, value, std::memory_order_seq_cst, std::memory_order_relaxed);
}

// After the own entry was published: adds the races with the other entry, or with
// all entries of the chain that it links to.
void look_at_other(const std::atomic<std::uint64_t>& other, const CellAccess& access, const ThreadView& view,
                   CaughtRaces& caught);

// The same for all entries of the cell and its chain. The own is not in its own way.
void look_at_all(const ShadowCell& cell, const CellAccess& access, const ThreadView& view, CaughtRaces& caught);

// Puts an entry that the cell did not have into its chain, unchecked.
void add_entry(ThreadState& self, ShadowCell& cell, CellEntry entry);

// Puts a mark (CellEntry::counting) where the hooks look first, and all entries into a
// chain: every access of the word comes to check_chain() from now on, or to what looks
// into the chain before. False: it has one already, or it did not work out.
bool mark_cell(ThreadState& self, ShadowCell& cell, CellEntry mark);

// An access to a word whose cell has this link.
[[nodiscard]] Outcome check_chain(ThreadState& self, ShadowCell& cell, std::uint64_t link, const CellAccess& access,
                                  Address word);

// An access to a word both of whose entries must stay.
[[nodiscard]] Outcome extend_cell(ThreadState& self, ShadowCell& cell, const CellEntry (&seen)[2],
                                  const CellAccess& access, Address word);

}  // namespace deadheat::runtime
