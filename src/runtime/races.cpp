// SPDX-License-Identifier: Apache-2.0
#include "runtime/races.h"

#include <sys/syscall.h>

#include "base/flat_map.h"
#include "base/immortal.h"
#include "core/race_variants.h"
#include "runtime/finding_packet.h"
#include "runtime/hand_off.h"
#include "runtime/heap_table.h"
#include "runtime/options.h"
#include "runtime/program_hooks.h"
#include "runtime/racy_words.h"
#include "runtime/sampling.h"
#include "runtime/start.h"

namespace deadheat::runtime {

std::atomic<bool> has_benign_ranges{false};

namespace {

struct KnownRace {
  std::uint64_t finding = 0;
  std::uint64_t occurrences = 0;
};

// The races between two places in the code.
struct RacingPair {
  RaceVariants<KnownRace, PageSource> variants;
  KnownRace* latest = nullptr;
  // The latest access to a range that it was found in: a free or memcpy over many
  // racing words is one occurrence, not one per word.
  std::uint64_t last_range = 0;
  std::uint64_t repetitions = 0;  // at memory that is known
  std::uint64_t others = 0;       // elsewhere
};
// Asking for a block costs more than the rest. Known memory may have another owner by now, which
// is asked for rarely; other memory is another race, unless the pair goes through thousands of blocks.
constexpr std::uint64_t kRepetitionsLookedUp = 256;
constexpr std::uint64_t kOthersLookedUp = 4096;
constexpr std::uint64_t kThenOneOf = 64;

struct BenignRange {
  Address begin = 0;
  Address end = 0;
};

SpinLock lock;         // of all below but the benign ranges
SpinLock benign_lock;  // of those; a leaf
constinit Immortal<FlatMap<RacingPair, PageSource>> races;
constinit Immortal<GrowableArray<BenignRange, PageSource>> benign;
std::uint64_t findings = 0;

// Both sides by code address and kind, in whatever order.
std::uint64_t key_of(const OriginDetails& earlier, AccessKind earlier_kind, const OriginDetails& later,
                     AccessKind later_kind) {
  const auto side = [](const OriginDetails& origin, AccessKind kind) {
    return spread(origin.code * 8 + raw(kind) + (static_cast<std::uint64_t>(origin.shape.flags & kOriginFree) << 56));
  };
  return side(earlier, earlier_kind) + side(later, later_kind);
}

// The calls that led to both sides, in whatever order.
std::uint64_t calls_of(const RaceSides& sides) {
  const auto side = [](const OriginDetails& origin) { return spread(origin.code + spread(origin.stack)); };
  return side(sides.earlier_origin) + side(sides.later_origin);
}

RaceOccurrence occurrence_of(const RaceSides& sides, std::uint64_t calls) {
  RaceOccurrence seen{sides.begin(), sides.end(), 0, calls};
  const HeapBlock block = HeapTable::describe(seen.begin);
  if (block.kind == HeapKind::kUnknown || block.allocated_stack == 0) return seen;
  seen.object = (std::uint64_t{1} << 63U) | block.allocated_stack;
  if (has_members(block.size, seen.end - seen.begin)) {
    seen.object |= (seen.begin - block.begin) << 32U;
  } else {
    seen.begin = block.begin;
    seen.end = block.begin + block.size;
  }
  return seen;
}

struct MetRace {
  KnownRace* race = nullptr;
  bool is_new = false;
  bool is_new_object = false;
};

// The race that this is an occurrence of.
MetRace meet(RacingPair& pair, const RaceSides& sides) {
  const std::uint64_t calls = calls_of(sides);
  KnownRace* known = pair.variants.find(sides.begin(), calls);
  const std::uint64_t turn = known != nullptr ? pair.repetitions++ : pair.others++;
  const bool is_looked_up =
      turn < (known != nullptr ? kRepetitionsLookedUp : kOthersLookedUp) || turn % kThenOneOf == 0;
  if (!is_looked_up) return {known != nullptr ? known : pair.latest, false, false};
  const auto met = pair.variants.meet(occurrence_of(sides, calls));
  return {met.value, met.is_new, met.is_new_object};
}

// The bytes of the word that the program wants to hear nothing about.
ByteMask benign_bytes(Address word) {
  ByteMask mask = 0;
  if (benign->empty()) return mask;
  SpinHolder hold(benign_lock);
  for (const BenignRange& range : *benign) {
    for (std::uint32_t byte = 0; byte < 8; ++byte) {
      if (word + byte >= range.begin && word + byte < range.end) mask = static_cast<ByteMask>(mask | (1U << byte));
    }
  }
  return mask;
}

}  // namespace

namespace {

// One origin of the earlier access.
void report_pair(ThreadState& self, CellEntry earlier, const CellAccess& access, Address word) {
  std::uint32_t counted = 0;
  const RaceSides sides{earlier, access, word, details_of(earlier.origin()), details_of(access.origin)};
  bool is_new_object = false;
  {
    SpinHolder hold(lock);
    RacingPair& pair = (*races)[key_of(sides.earlier_origin, earlier.kind(), sides.later_origin, access.kind)];
    // A range goes on with the race that it was found in.
    const bool goes_on = self.range_number != 0 && pair.last_range == self.range_number;
    pair.last_range = self.range_number;
    if (goes_on) return;
    const MetRace met = meet(pair, sides);
    pair.latest = met.race;
    ++met.race->occurrences;
    if (!met.is_new) return;
    met.race->finding = ++findings;
    is_new_object = met.is_new_object;
    if (is_new_object) counted = number_racy_word(word, static_cast<ByteMask>(earlier.mask() & access.mask));
    send_finding(self, sides, met.race->finding, counted);
  }
  if (!is_new_object) return;
  begin_counting(self, word, counted);
  tell_program_of_race(self, sides);
  if (options().halt_on_error && (!has_listener() || listener_wants_halt())) {
    const int status = on_process_exit(0);
    raw_call(SYS_exit_group, status);
  }
}

}  // namespace

void report_race(ThreadState& self, CellEntry earlier, const CellAccess& access, Address word) {
  // The bytes in common may have come from several places in the code.
  auto left = static_cast<ByteMask>(earlier.mask() & access.mask & ~benign_bytes(word));
  while (left != 0) {
    const OriginId origin = origin_of_byte(earlier.origin(), static_cast<std::uint32_t>(__builtin_ctz(left)));
    ByteMask same = 0;
    for (std::uint32_t byte = 0; byte < 8; ++byte) {
      const auto bit = static_cast<ByteMask>(1U << byte);
      if ((left & bit) != 0 && origin_of_byte(earlier.origin(), byte) == origin)
        same = static_cast<ByteMask>(same | bit);
    }
    report_pair(self, CellEntry(earlier.epoch(), same, earlier.kind(), origin), access, word);
    left = static_cast<ByteMask>(left & ~same);
  }
}

void add_benign_range(Address begin, std::uint64_t size) {
  SpinHolder hold(benign_lock);
  benign->push_back(BenignRange{begin, begin + size});
  has_benign_ranges.store(true, std::memory_order_relaxed);
}

Address first_not_benign(Address begin, Address end) {
  if (benign->empty()) return begin;
  SpinHolder hold(benign_lock);
  for (std::uint32_t index = 0; index < benign->size() && begin < end; ++index) {
    const BenignRange& range = (*benign)[index];
    if (begin < range.begin || begin >= range.end) continue;
    begin = range.end;
    index = ~0U;  // from the start: they are in no order
  }
  return begin < end ? begin : end;
}

void forget_benign_ranges(Address begin, std::uint64_t size) {
  if (benign->empty()) return;
  SpinHolder hold(benign_lock);
  for (std::uint32_t index = benign->size(); index-- > 0;) {
    const BenignRange& range = (*benign)[index];
    if (range.begin >= begin && range.end <= begin + size) benign->erase(index);
  }
}

std::uint64_t finding_count() { return findings; }

void for_each_finding(void (*visit)(std::uint64_t finding, std::uint64_t occurrences, void* context), void* context) {
  SpinHolder hold(lock);
  races->for_each([&](std::uint64_t, const RacingPair& pair) {
    pair.variants.for_each([&](const KnownRace& race) { visit(race.finding, race.occurrences, context); });
  });
}

void lock_races() { lock.lock(); }
void unlock_races() { lock.unlock(); }
void lock_benign_ranges() { benign_lock.lock(); }
void unlock_benign_ranges() { benign_lock.unlock(); }

}  // namespace deadheat::runtime
