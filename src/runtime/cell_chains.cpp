// SPDX-License-Identifier: Apache-2.0
#include "runtime/cell_chains.h"

#include <span>

#include "base/check.h"
#include "core/chain_rules.h"
#include "runtime/cell_blocks.h"
#include "runtime/counters.h"
#include "runtime/races.h"
#include "runtime/racy_words.h"
#include "runtime/sampling.h"
#include "runtime/shadow_memory.h"
#include "runtime/shadow_pages.h"
#include "runtime/slots.h"
#include "runtime/unchecked_code.h"

namespace deadheat::runtime {

void CaughtRaces::add(CellEntry entry) {
  // While an entry moves to another place it is in both.
  for (int index = 0; index < count; ++index) {
    if (entries[index] == entry) return;
  }
  if (count < kLimit) {
    entries[count++] = entry;
  } else {
    count_loss(Loss::kRacesAtOnce);
  }
}

namespace {

// What was caught may have expired before (sampling_control.cpp): if code may run without checks, or might at some time
// since the thread's event began. Order that came after the record may be unknown then; who can have missed some has
// seen what somebody did who was told, and so sees this as well. While somebody is recording nothing expires.
bool may_have_expired(const ThreadState& self) {
  if (!samples || self.clock.is_sampling()) return false;
  DEADHEAT_DCHECK(self.sampling.depth != 0);
  return may_run_unchecked() || unchecked_changes() != self.sampling.unchecked_changes;
}

}  // namespace

void CaughtRaces::report(ThreadState& self, const CellAccess& access, Address word) const {
  if (count == 0 || may_have_expired(self)) return;
  for (int index = 0; index < count; ++index) report_race(self, entries[index], access, word);
}

namespace {

// All entries of a chain, the links left out. visit(place, entry) returns whether
// to go on.
template <class Visit>
void for_each_in_chain(std::uint64_t link, Visit&& visit) {
  while (is_link(link)) {
    CellBlock* block = block_of(link);
    std::uint64_t next = 0;
    for (int index = 0; index < CellBlock::kEntries; ++index) {
      const std::uint64_t entry = block->entries[index].load(std::memory_order_seq_cst);
      if (is_link(entry)) {
        next = entry;
      } else if (!visit(block->entries[index], CellEntry::from_bits(entry))) {
        return;
      }
    }
    link = next;
  }
}

void catch_races_in_chain(std::uint64_t link, const CellAccess& access, const ThreadView& view, CaughtRaces& caught) {
  for_each_in_chain(link, [&](const std::atomic<std::uint64_t>& place, CellEntry entry) {
    if (!is_race(entry, access, view)) return true;
    if (place.load(std::memory_order_seq_cst) == entry.bits()) caught.add(entry);
    return true;
  });
}

// The entries of a cell and its chain, and where they are. The first is the cell's.
struct Gathered {
  static constexpr int kMost = 64;
  CellEntry entries[kMost];
  std::atomic<std::uint64_t>* places[kMost];
  int count = 0;
  bool is_complete = true;
  std::atomic<std::uint64_t>* last = nullptr;  // the last entry of the last block

  Gathered(ShadowCell& cell, std::uint64_t link) {
    add(cell.entries[0], CellEntry::from_bits(cell.entries[0].load(std::memory_order_seq_cst)));
    for_each_in_chain(link, [&](std::atomic<std::uint64_t>& place, CellEntry entry) {
      add(place, entry);
      return true;
    });
  }
  void add(std::atomic<std::uint64_t>& place, CellEntry entry) {
    last = &place;
    if (count == kMost) {
      is_complete = false;
      return;
    }
    entries[count] = entry;
    places[count++] = &place;
  }
  [[nodiscard]] std::span<const CellEntry> all() const { return {entries, static_cast<std::size_t>(count)}; }
  [[nodiscard]] bool has(CellEntry entry) const {
    for (const CellEntry known : all()) {
      if (known == entry) return true;
    }
    return false;
  }
};

// A new block at the end of the chain, with this entry and the one that its link
// displaces.
bool append_entry(ThreadState& self, std::atomic<std::uint64_t>& last, std::uint64_t entry) {
  std::uint64_t displaced = last.load(std::memory_order_relaxed);
  if (is_link(displaced)) return false;
  const std::uint64_t link = make_block(self, displaced, entry);
  if (link == 0) {
    count_loss(Loss::kNoCellBlock);
    return last.compare_exchange_strong(displaced, entry, std::memory_order_seq_cst);
  }
  if (last.compare_exchange_strong(displaced, link, std::memory_order_seq_cst)) return true;
  discard_block(link);
  return false;
}

// Puts somebody else's entry back into a cell from which it was unlinked.
void insert_again(ThreadState& self, ShadowCell& cell, std::uint64_t entry) {
  if (CellEntry::from_bits(entry).is_counting()) return;  // has its place only in the cell
  for (;;) {
    std::uint64_t second = cell.entries[1].load(std::memory_order_seq_cst);
    if (!is_link(second)) {
      const std::uint64_t link = make_block(self, second, entry);
      if (link == 0) return count_loss(Loss::kNoCellBlock);
      if (cell.entries[1].compare_exchange_strong(second, link, std::memory_order_seq_cst)) return;
      discard_block(link);
      continue;
    }
    bool is_in = false;
    std::atomic<std::uint64_t>* last = nullptr;
    for_each_in_chain(second, [&](std::atomic<std::uint64_t>& place, CellEntry old) {
      std::uint64_t expected = 0;
      is_in = old.is_empty() && place.compare_exchange_strong(expected, entry, std::memory_order_seq_cst);
      last = &place;
      return !is_in;
    });
    if (!is_in && last != nullptr) is_in = append_entry(self, *last, entry);
    if (is_in && cell.entries[1].load(std::memory_order_seq_cst) == second) return;
  }
}

// A chain that was just unlinked, once more: what came in meanwhile goes back.
void look_at_unlinked(ThreadState& self, ShadowCell& cell, std::uint64_t link, const Gathered& seen,
                      const CellAccess& access, CaughtRaces& caught) {
  const ThreadView view(self);
  for_each_in_chain(link, [&](const std::atomic<std::uint64_t>&, CellEntry entry) {
    if (is_race(entry, access, view)) caught.add(entry);
    if (!entry.is_empty() && !seen.has(entry)) insert_again(self, cell, entry.bits());
    return true;
  });
}

// At most one entry besides the own must stay: the cell needs no chain any more.
// The own entry is published and the chain unlinked; then the chain is looked at
// once more. An entry that came in meanwhile is seen there, checked and put back;
// one that comes later finds the link gone and tries again.
Outcome shrink(ThreadState& self, ShadowCell& cell, std::uint64_t link, const Gathered& seen, const ChainPlan& plan,
               const CellAccess& access, CaughtRaces& caught, bool& unlinked) {
  const ThreadView view(self);
  const CellEntry first = seen.entries[0];
  const bool first_stays = !first.is_empty() && first == plan.stays[0];
  if (!first_stays) {
    if (!replace_entry(cell.entries[0], first.bits(), plan.value.bits())) return Outcome::kAgain;
    if (is_race(first, access, view)) caught.add(first);
  }
  std::uint64_t expected = link;
  const CellEntry in_second = first_stays ? plan.value : plan.stays[0];
  if (!cell.entries[1].compare_exchange_strong(expected, in_second.bits(), std::memory_order_seq_cst)) {
    if (first_stays) return Outcome::kAgain;
    look_at_other(cell.entries[1], access, view, caught);
    return Outcome::kDone;
  }
  unlinked = true;
  if (first_stays) {
    look_at_other(cell.entries[0], access, view, caught);
    if (cell.entries[0].load(std::memory_order_seq_cst) != first.bits()) insert_again(self, cell, first.bits());
  }
  look_at_unlinked(self, cell, link, seen, access, caught);
  return Outcome::kDone;
}

// Few entries must stay of a long chain: they move to one block, together with the
// own. The first stays where it is.
Outcome compact(ThreadState& self, ShadowCell& cell, std::uint64_t link, const Gathered& seen, const ChainPlan& plan,
                const CellAccess& access, CaughtRaces& caught, bool& unlinked) {
  const std::uint64_t fresh = make_block(self, plan.value.bits(), 0);
  if (fresh == 0) {
    count_loss(Loss::kNoCellBlock);
    look_at_all(cell, access, ThreadView(self), caught);
    return Outcome::kDone;
  }
  int used = 1;
  for (int index = 0; index < plan.staying; ++index) {
    if (plan.stays[index] == seen.entries[0]) continue;
    block_of(fresh)->entries[used++].store(plan.stays[index].bits(), std::memory_order_relaxed);
  }
  std::uint64_t expected = link;
  if (!cell.entries[1].compare_exchange_strong(expected, fresh, std::memory_order_seq_cst)) {
    discard_block(fresh);
    return Outcome::kAgain;
  }
  unlinked = true;
  look_at_other(cell.entries[0], access, ThreadView(self), caught);
  const CellEntry first = seen.entries[0];
  if (!first.is_empty() && cell.entries[0].load(std::memory_order_seq_cst) != first.bits()) {
    insert_again(self, cell, first.bits());
  }
  look_at_unlinked(self, cell, link, seen, access, caught);
  return Outcome::kDone;
}

// Puts the own entry where the hooks look first. The one that was there has moved to
// the chain; if that is unlinked meanwhile, who unlinks it may not have noticed.
bool take_first_place(ThreadState& self, ShadowCell& cell, std::uint64_t link, CellEntry moved, CellEntry own) {
  if (!replace_entry(cell.entries[0], moved.bits(), own.bits())) return false;
  if (!moved.is_empty() && cell.entries[1].load(std::memory_order_seq_cst) != link) {
    insert_again(self, cell, moved.bits());
  }
  return true;
}

// The own entry goes where the plan says, or where the hooks look first: then the
// entry that was there makes way to the plan's place.
bool place_entry(ThreadState& self, ShadowCell& cell, std::uint64_t link, const Gathered& seen, const ChainPlan& plan,
                 const CellAccess& access) {
  const CellEntry first = seen.entries[0];
  const CellEntry old = seen.entries[plan.index];
  std::atomic<std::uint64_t>& place = *seen.places[plan.index];
  if (plan.index == 0 || can_merge(old, access) || first.epoch() == access.epoch || first.is_counting()) {
    return replace_entry(place, old.bits(), plan.value.bits());
  }
  if (!replace_entry(place, old.bits(), first.bits())) return false;
  // Unlinked meanwhile: what is there is not seen by others.
  if (cell.entries[1].load(std::memory_order_seq_cst) == link &&
      take_first_place(self, cell, link, first, plan.value)) {
    return true;
  }
  static_cast<void>(replace_entry(place, first.bits(), 0));
  return false;
}

// `unlinked`: the chain is the caller's to release.
Outcome change_chain(ThreadState& self, ShadowCell& cell, std::uint64_t link, const CellAccess& access,
                     CaughtRaces& caught, bool& unlinked) {
  const BlockUse use(self);
  if (cell.entries[1].load(std::memory_order_seq_cst) != link) return Outcome::kAgain;
  const ThreadView view(self);
  const Gathered seen(cell, link);
  const ChainPlan plan = plan_chain(seen.all(), access, view);
  if (plan.step == ChainPlan::Step::kNothing) {
    return cell.entries[1].load(std::memory_order_seq_cst) == link ? Outcome::kDone : Outcome::kAgain;
  }
  if (plan.step == ChainPlan::Step::kShrink && seen.is_complete) {
    return shrink(self, cell, link, seen, plan, access, caught, unlinked);
  }
  const bool is_long = seen.count > 1 + CellBlock::kEntries;
  if (is_long && plan.staying <= ChainPlan::kMostStaying && seen.is_complete) {
    return compact(self, cell, link, seen, plan, access, caught, unlinked);
  }
  if (plan.index >= 0) {
    if (!place_entry(self, cell, link, seen, plan, access)) return Outcome::kAgain;
    const CellEntry replaced = seen.entries[plan.index];
    if (is_race(replaced, access, view)) caught.add(replaced);
  } else if (!append_entry(self, *seen.last, access.entry().bits())) {
    return Outcome::kAgain;
  }
  look_at_other(cell.entries[0], access, view, caught);
  catch_races_in_chain(link, access, view, caught);
  // Unlinked meanwhile: what was published there may not be seen by others. What was
  // caught stays caught: who unlinked it may have put it back, and then the next
  // attempt has nothing to do.
  const bool in_cell = CellEntry::from_bits(cell.entries[0].load(std::memory_order_seq_cst)) == plan.value;
  if (!in_cell && cell.entries[1].load(std::memory_order_seq_cst) != link) return Outcome::kAgain;
  return Outcome::kDone;
}

}  // namespace

void add_entry(ThreadState& self, ShadowCell& cell, CellEntry entry) {
  const BlockUse use(self);
  insert_again(self, cell, entry.bits());
}

// As extend_cell(), with a mark instead of an access. Who is in between keeps what he
// published: an entry moves into the chain before it leaves the first place.
bool mark_cell(ThreadState& self, ShadowCell& cell, CellEntry mark) {
  constexpr int kTries = 16;
  const BlockUse use(self);
  for (int tries = 0; tries < kTries; ++tries) {
    std::uint64_t second = cell.entries[1].load(std::memory_order_seq_cst);
    if (!is_link(second)) {
      const std::uint64_t link = make_block(self, second, 0);
      if (link == 0) return false;
      if (!cell.entries[1].compare_exchange_strong(second, link, std::memory_order_seq_cst)) discard_block(link);
      continue;
    }
    const CellEntry first = CellEntry::from_bits(cell.entries[0].load(std::memory_order_seq_cst));
    if (first.is_counting()) return false;
    if (!first.is_empty()) insert_again(self, cell, first.bits());
    if (take_first_place(self, cell, second, first, mark)) return true;
  }
  return false;
}

// The other half of the protocol: after publishing, what do the others say?
void look_at_other(const std::atomic<std::uint64_t>& other, const CellAccess& access, const ThreadView& view,
                   CaughtRaces& caught) {
  for (;;) {
    const std::uint64_t bits = other.load(std::memory_order_seq_cst);
    if (is_link(bits)) {
      CaughtRaces in_chain;
      catch_races_in_chain(bits, access, view, in_chain);
      if (other.load(std::memory_order_seq_cst) != bits) continue;
      for (int index = 0; index < in_chain.count; ++index) caught.add(in_chain.entries[index]);
      return;
    }
    const CellEntry entry = CellEntry::from_bits(bits);
    if (!is_race(entry, access, view)) return;
    if (other.load(std::memory_order_seq_cst) != bits) continue;
    caught.add(entry);
    return;
  }
}

// The first before the second: an entry that moves is put into the chain before it
// leaves the first place.
void look_at_all(const ShadowCell& cell, const CellAccess& access, const ThreadView& view, CaughtRaces& caught) {
  for (const std::atomic<std::uint64_t>& entry : cell.entries) look_at_other(entry, access, view, caught);
}

Outcome check_chain(ThreadState& self, ShadowCell& cell, std::uint64_t link, const CellAccess& access, Address word) {
  CaughtRaces caught;
  bool unlinked = false;
  const Outcome outcome = change_chain(self, cell, link, access, caught, unlinked);
  if (unlinked) release_chain(self, link);
  if (outcome == Outcome::kDone) count_if_racy(self, cell, access.kind, access.mask);
  caught.report(self, access, word);
  return outcome;
}

// Both entries must stay: they move to a block, and the new one takes the first
// place, where the hooks look.
Outcome extend_cell(ThreadState& self, ShadowCell& cell, const CellEntry (&seen)[2], const CellAccess& access,
                    Address word) {
  if (ask_for_known_to_all() == Answer::kNew) return Outcome::kAgain;
  const ThreadView view(self);
  CaughtRaces caught;
  if (samples) static_cast<void>(note_chain(word));
  {
    const BlockUse use(self);
    const std::uint64_t link = make_block(self, seen[1].bits(), seen[0].bits());
    std::uint64_t expected = seen[1].bits();
    if (link == 0) {
      count_loss(Loss::kNoCellBlock);
      look_at_all(cell, access, view, caught);
    } else if (!cell.entries[1].compare_exchange_strong(expected, link, std::memory_order_seq_cst)) {
      discard_block(link);
      return Outcome::kAgain;
    } else {
      if (!take_first_place(self, cell, link, seen[0], access.entry())) return Outcome::kAgain;
      look_at_other(cell.entries[1], access, view, caught);
    }
  }
  caught.report(self, access, word);
  return Outcome::kDone;
}

}  // namespace deadheat::runtime
