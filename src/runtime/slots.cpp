// SPDX-License-Identifier: Apache-2.0
#include "runtime/slots.h"

#include <sys/syscall.h>

#include "base/immortal.h"
#include "runtime/cell_blocks.h"
#include "runtime/shadow_memory.h"
#include "runtime/slim_regions.h"
#include "runtime/system.h"
#include "runtime/thread_registry.h"

namespace deadheat::runtime {

std::atomic<std::uint64_t> slot_base[kSlotCount];
std::atomic<std::uint64_t> slot_known[kSlotCount];
std::atomic<std::uint64_t> slot_taken[kSlotCount];
std::atomic<std::uint64_t> slot_since[kSlotCount];

namespace {

// A thread that takes a slot over must be able to use it for a while.
constexpr std::uint32_t kWorthContinuing = ShortEpoch::kMaxClock / 2;
constexpr std::uint32_t kFirstSweep = 256;

struct Tenure {
  Clock first = 0;
  ThreadId thread{};
};
struct RetiredSlot {
  ThreadSlot slot{};
  Clock last = 0;
};

constinit Immortal<GrowableArray<Tenure, PageSource>> all_tenures[kSlotCount];
constinit Immortal<GrowableArray<RetiredSlot, PageSource>> all_retired;
std::uint32_t next_slot = 1;
std::uint32_t sweep_at = kFirstSweep;
SlotCounters counters;

// Which slots the current sweep removes.
bool is_swept[kSlotCount];

// Slots that two threads had at the same time, or one after another without order.
bool is_confused[kSlotCount];

// The lock of the entry's region is held.
void sweep_slim_entry(CellEntry& entry) {
  if (is_swept[raw(entry.slot())]) entry = CellEntry{};
}

void sweep_entry(std::atomic<std::uint64_t>& entry) {
  std::uint64_t bits = entry.load(std::memory_order_relaxed);
  if (bits == 0 || is_link(bits) || !is_swept[raw(CellEntry::from_bits(bits).slot())]) return;
  entry.compare_exchange_strong(bits, 0, std::memory_order_acq_rel, std::memory_order_relaxed);
}

void sweep_cell(ShadowCell& cell, void* /*context*/) {
  sweep_entry(cell.entries[0]);
  std::uint64_t link = cell.entries[1].load(std::memory_order_acquire);
  if (!is_link(link)) {
    sweep_entry(cell.entries[1]);
    // It may have become a link in between, and the entry moved behind it.
    link = cell.entries[1].load(std::memory_order_acquire);
  }
  while (is_link(link)) {
    CellBlock* block = block_of(link);
    for (int index = 0; index < CellBlock::kEntries; ++index) sweep_entry(block->entries[index]);
    link = block->entries[CellBlock::kEntries - 1].load(std::memory_order_acquire);
  }
}

// Until each of the others has been seen to move no entry. They take no lock that
// we hold while they do; a bound all the same, as a program must not hang in here.
void wait_for_moves(const ThreadState& self) {
  constexpr int kPatience = 100000;
  for (ThreadState* thread = registry().first(); thread != nullptr; thread = thread->next) {
    for (int tries = 0; thread != &self && thread->uses_block.load(std::memory_order_seq_cst); ++tries) {
      if (tries == kPatience) break;
      raw_call(SYS_sched_yield);
    }
  }
}

// Removes the entries of the marked slots and moves their bases up. Twice: an entry
// that was being moved from one place to another during the first sweep is found
// by the second.
void sweep_marked() {
  ThreadState& self = runtime::self();
  for (int round = 0; round < 2; ++round) {
    if (round != 0) wait_for_moves(self);
    self.uses_block.store(true, std::memory_order_seq_cst);  // see cell_blocks.h
    for_each_cell(sweep_cell, nullptr);
    for_each_slim_entry(sweep_slim_entry);
    self.uses_block.store(false, std::memory_order_release);
  }
  for (RetiredSlot& candidate : *all_retired) {
    if (!is_swept[raw(candidate.slot)]) continue;
    slot_base[raw(candidate.slot)].store(candidate.last, std::memory_order_release);
    is_swept[raw(candidate.slot)] = false;
    all_tenures[raw(candidate.slot)]->clear();
  }
  ++counters.sweeps;
}

bool sweep_what_all_know() {
  refresh_known_to_all();
  bool any = false;
  for (const RetiredSlot& candidate : *all_retired) {
    const bool is_fresh = slot_base[raw(candidate.slot)].load(std::memory_order_relaxed) == candidate.last;
    if (is_fresh || candidate.last > known_to_all(candidate.slot)) continue;
    is_swept[raw(candidate.slot)] = true;
    any = true;
  }
  if (any) sweep_marked();
  return any;
}

void sweep_oldest_by_force() {
  if (all_retired->empty()) return;
  is_swept[raw((*all_retired)[0].slot)] = true;
  is_confused[raw((*all_retired)[0].slot)] = true;
  ++counters.lost;
  sweep_marked();
  slot_known[raw((*all_retired)[0].slot)].store((*all_retired)[0].last, std::memory_order_relaxed);
}

// The retired slot that ended last and that `inherited` knows all of.
bool continue_slot(const RuntimeClock& inherited, ThreadSlot& found) {
  for (std::uint32_t index = all_retired->size(); index-- > 0;) {
    const RetiredSlot candidate = (*all_retired)[index];
    const Clock used = candidate.last - slot_base[raw(candidate.slot)].load(std::memory_order_relaxed);
    if (used > kWorthContinuing) continue;
    if (used != 0 && candidate.last > inherited.clock_of(candidate.slot)) continue;
    all_retired->erase(index);
    found = candidate.slot;
    return true;
  }
  return false;
}

}  // namespace

ThreadSlot take_slot(const RuntimeClock& inherited, ThreadId thread) {
  ThreadSlot slot{};
  bool found = continue_slot(inherited, slot);
  if (!found && next_slot >= sweep_at && all_retired->size() > next_slot / 2) {
    sweep_what_all_know();
    found = continue_slot(inherited, slot);
    const std::uint32_t used = next_slot - all_retired->size();
    sweep_at = used * 2 < kFirstSweep ? kFirstSweep : used * 2;
  }
  if (!found && next_slot < kSlotCount) {
    slot = ThreadSlot{next_slot++};
    found = true;
  }
  if (!found) {
    if (!sweep_what_all_know()) sweep_oldest_by_force();
    found = continue_slot(inherited, slot);
  }
  // More threads alive than slots: they share one, and races between them are
  // not seen.
  if (!found) {
    slot = ThreadSlot{1 + raw(thread) % (kSlotCount - 1)};
    is_confused[raw(slot)] = true;
    ++counters.lost;
  }
  const Clock base = slot_base[raw(slot)].load(std::memory_order_relaxed);
  const Clock known = inherited.clock_of(slot);
  const Clock since = (known < base ? base : known) + 1;
  all_tenures[raw(slot)]->push_back(Tenure{since, thread});
  static std::uint32_t taken = 0;
  slot_since[raw(slot)].store(since, std::memory_order_relaxed);
  slot_taken[raw(slot)].store(is_confused[raw(slot)] ? 0 : (std::uint64_t{raw(thread)} << 32) | ++taken,
                              std::memory_order_relaxed);
  return slot;
}

void retire_slot(ThreadSlot slot, Clock last) { all_retired->push_back(RetiredSlot{slot, last}); }

ThreadId slot_owner(ThreadSlot slot, Clock clock) {
  ThreadId owner{};
  for (const Tenure& tenure : *all_tenures[raw(slot)]) {
    if (tenure.first > clock) break;
    owner = tenure.thread;
  }
  return owner;
}

void refresh_known_to_all() {
  for (std::uint32_t slot = 1; slot < next_slot; ++slot) {
    Clock least = Epoch::kMaxClock;
    for (ThreadState* thread = registry().first(); thread != nullptr; thread = thread->next) {
      if (thread->life != ThreadState::Life::kRunning) continue;
      SpinHolder hold(thread->clock_lock);
      const Clock clock = thread->clock.clock_of(ThreadSlot{slot});
      if (clock < least) least = clock;
    }
    if (least != Epoch::kMaxClock && least > known_to_all(ThreadSlot{slot})) {
      slot_known[slot].store(least, std::memory_order_relaxed);
    }
  }
}

Answer ask_for_known_to_all() {
  static constinit std::atomic<std::uint64_t> asked{0};
  static constinit std::atomic<std::uint64_t> answer_at{0};
  const std::uint64_t now = asked.fetch_add(1, std::memory_order_relaxed);
  if (now < answer_at.load(std::memory_order_relaxed)) return Answer::kNotNow;
  SpinHolder hold(registry().lock);
  refresh_known_to_all();
  const std::uint64_t cost = std::uint64_t{registry().live_count()} * registry().live_count();
  answer_at.store(now + 32 + cost / 4, std::memory_order_relaxed);
  return Answer::kNew;
}

SlotCounters slot_counters() { return counters; }

}  // namespace deadheat::runtime
