// SPDX-License-Identifier: Apache-2.0
#include "runtime/racy_words.h"

#include "runtime/cell_chains.h"
#include "runtime/cold_sampling.h"
#include "runtime/finding_packet.h"
#include "runtime/races.h"
#include "runtime/sampling.h"
#include "runtime/shadow_pages.h"
#include "runtime/slim_regions.h"
#include "runtime/thread_registry.h"
#include "runtime/unsampled.h"

namespace deadheat::runtime {
namespace {

constexpr std::uint32_t kWords = 1024;
constexpr std::uint64_t kEnough = 100'000;  // accesses of one word: about 10 ms
constexpr std::uint64_t kFirstSent = 64;

// Filled by one thread at a time before the mark that makes others look at it; then
// everybody counts with relaxed operations. Numbers begin with 1.
struct RacyWord {
  Address word = 0;
  std::atomic<ByteMask> bytes{0};
  std::atomic<std::uint64_t> accesses{0};
  std::atomic<std::uint64_t> without_lock{0};
  struct Lock {
    std::atomic<std::uint64_t> serial_and_one{0};  // 0: not used yet
    std::atomic<std::uint64_t> accesses{0};
  };
  Lock locks[RacyWordCounts::kLocks];
};
constinit RacyWord words[kWords];
std::atomic<std::uint32_t> word_count{0};

// Locks beyond the first few are not told apart from none: the first ones are those of
// the most accesses, or there is no rule.
void count_lock(RacyWord& word, std::uint64_t serial) {
  for (RacyWord::Lock& lock : word.locks) {
    std::uint64_t known = lock.serial_and_one.load(std::memory_order_relaxed);
    if (known == 0 && lock.serial_and_one.compare_exchange_strong(known, serial + 1, std::memory_order_relaxed)) {
      known = serial + 1;
    }
    if (known != serial + 1) continue;
    lock.accesses.fetch_add(1, std::memory_order_relaxed);
    return;
  }
}

RacyWordCounts counts_of(std::uint32_t number) {
  const RacyWord& word = words[number - 1];
  RacyWordCounts counts;
  counts.number = number;
  counts.word = word.word;
  counts.bytes = word.bytes.load(std::memory_order_relaxed);
  // Read before what must not be more.
  for (const RacyWord::Lock& lock : word.locks) {
    const std::uint64_t serial_and_one = lock.serial_and_one.load(std::memory_order_relaxed);
    if (serial_and_one == 0) break;
    counts.locks[counts.lock_count++] = {serial_and_one - 1, lock.accesses.load(std::memory_order_acquire)};
  }
  counts.without_lock = word.without_lock.load(std::memory_order_acquire);
  counts.accesses = word.accesses.load(std::memory_order_acquire);
  counts.is_full = counts.accesses >= kEnough;
  return counts;
}

void send(std::uint32_t number) {
  lock_races();
  send_counts(counts_of(number));
  unlock_races();
}

// 64, 256, 1024, ...
bool is_worth_sending(std::uint64_t accesses) {
  return accesses >= kFirstSent && (accesses & (accesses - 1)) == 0 && __builtin_ctzll(accesses) % 2 == 0;
}

}  // namespace

std::uint32_t number_racy_word(Address word, ByteMask bytes) {
  if (samples || follows_calls || region_at(word) != RegionId::kNone) return 0;
  const CellEntry first = CellEntry::from_bits(cell_of(word)->entries[0].load(std::memory_order_relaxed));
  if (first.is_counting()) {
    const std::uint32_t number = raw(first.origin());
    words[number - 1].bytes.fetch_or(bytes, std::memory_order_relaxed);
    return number;
  }
  const std::uint32_t count = word_count.load(std::memory_order_relaxed);
  // Found again before the one who found it first has set the mark.
  if (count != 0 && words[count - 1].word == word && words[count - 1].accesses.load(std::memory_order_relaxed) == 0) {
    words[count - 1].bytes.fetch_or(bytes, std::memory_order_relaxed);
    return count;
  }
  if (count == kWords) return 0;
  words[count].word = word;
  words[count].bytes.store(bytes, std::memory_order_relaxed);
  word_count.store(count + 1, std::memory_order_release);
  return count + 1;
}

void begin_counting(ThreadState& self, Address word, std::uint32_t number) {
  if (number != 0 && (!samples || note_chain(word))) mark_cell(self, *cell_of(word), CellEntry::counting(number));
}

void count_access(ThreadState& self, ShadowCell& cell, CellEntry mark, AccessKind kind, ByteMask mask) {
  const std::uint32_t number = raw(mark.origin());
  RacyWord& word = words[number - 1];
  if (kind == AccessKind::kFree || (word.bytes.load(std::memory_order_relaxed) & mask) == 0) return;
  const RuntimeScope scope;
  const std::uint64_t before = word.accesses.fetch_add(1, std::memory_order_relaxed);
  if (self.held.empty()) word.without_lock.fetch_add(1, std::memory_order_release);
  for (const HeldLockState& held : self.held) count_lock(word, held.serial);
  if (before + 1 >= kEnough) {
    static_cast<void>(replace_entry(cell.entries[0], mark.bits(), kPlaceholder.bits()));
    if (before + 1 == kEnough) send(number);
  } else if (is_worth_sending(before + 1)) {
    send(number);
  }
}

void send_racy_words() {
  const std::uint32_t count = word_count.load(std::memory_order_acquire);
  for (std::uint32_t number = 1; number <= count; ++number) send(number);
}

}  // namespace deadheat::runtime
