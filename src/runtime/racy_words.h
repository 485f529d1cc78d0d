// SPDX-License-Identifier: Apache-2.0
// Racy words: under which locks the memory of a race is accessed otherwise.
//
// "23,114 of 23,117 accesses held queue_mutex; this one did not" is what people need to
// know of a race, and what a detector does not keep: counting for all memory would cost as
// much as detecting. So counting begins when a race is found, with the word that it was
// found on. A mark takes the first place of the word's cell (CellEntry::counting) and its
// entries move into a chain. No check in the program's code accepts the mark, so each
// access of the word comes to where chains are looked at, is treated there as any other,
// and counted. Memory without a race costs nothing, neither time nor space: what is asked
// more is asked of cells that have a chain.
//
// Not counted: what the compiler pass found redundant, repetitions of a whole loop in one
// epoch, frees, memory in compressed shadow, and everything in processes that sample, whose
// counts would say more about the sampling. Bounded: so many words, so many accesses of
// each, after which the mark goes, so that a racy counter does not stay slow; so many locks
// of each. The mark also goes with the history of the memory (freed, mapped anew).
//
// What was counted leaves with each fourfold amount and at exit (raw_report::Counts).
#pragma once

#include <atomic>
#include <cstdint>

#include "core/cell_entry.h"
#include "model/finding.h"
#include "model/identity.h"
#include "runtime/shadow_memory.h"
#include "runtime/thread_state.h"

namespace deadheat::runtime {

// A race was found on these bytes of the word. The number under which its accesses are
// counted; 0: they are not. One thread at a time (the lock of the races).
[[nodiscard]] std::uint32_t number_racy_word(Address word, ByteMask bytes);
// Begins to count. Inside a RuntimeScope, and not while a block is in use.
void begin_counting(ThreadState& self, Address word, std::uint32_t number);

[[gnu::noinline, gnu::cold]] void count_access(ThreadState& self, ShadowCell& cell, CellEntry mark, AccessKind kind,
                                               ByteMask mask);
// An access that was just settled in the chain of the cell.
[[gnu::always_inline]] inline void count_if_racy(ThreadState& self, ShadowCell& cell, AccessKind kind, ByteMask mask) {
  const CellEntry first = CellEntry::from_bits(cell.entries[0].load(std::memory_order_relaxed));
  if (first.is_counting()) [[unlikely]]
    count_access(self, cell, first, kind, mask);
}

// What was counted of one word.
struct RacyWordCounts {
  struct Lock {
    std::uint64_t serial = 0;
    std::uint64_t accesses = 0;  // that held it
  };
  static constexpr std::uint32_t kLocks = 8;

  std::uint32_t number = 0;
  Address word = 0;
  ByteMask bytes = 0;
  bool is_full = false;
  std::uint64_t accesses = 0;
  std::uint64_t without_lock = 0;
  std::uint32_t lock_count = 0;
  Lock locks[kLocks];
};
// Sends all counts. Called at exit.
void send_racy_words();

}  // namespace deadheat::runtime
