// SPDX-License-Identifier: Apache-2.0
#include "runtime/cell_chains.h"

#include "core/cell_rules.h"
#include "runtime/cell_blocks.h"
#include "runtime/counters.h"
#include "runtime/races.h"
#include "runtime/shadow_memory.h"
#include "runtime/slots.h"

namespace deadheat::runtime {

void CaughtRaces::add(CellEntry entry) {
  if (count < kLimit) {
    entries[count++] = entry;
  } else {
    count_loss(Loss::kRacesAtOnce);
  }
}

void CaughtRaces::report(ThreadState& self, const CellAccess& access, Address word) const {
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

// What a walk over a chain found.
struct ChainSurvey {
  bool is_same_epoch = false;
  bool merges = false;
  CellEntry cover;           // the thread's own youngest entry
  std::uint32_t needed = 0;  // entries that must stay as they are
  CellEntry last_needed;
  std::atomic<std::uint64_t>* place = nullptr;  // where the access can go
  CellEntry old_value;
  CellEntry new_value;
  std::atomic<std::uint64_t>* last = nullptr;  // the last entry of the last block
};

// The youngest of the own slot, of those the one for most bytes. What it covers may
// go: without this, a word that is written in parts keeps an entry per epoch.
void find_cover(CellEntry entry, const CellAccess& access, ChainSurvey& survey) {
  if (entry.is_empty() || entry.slot() != access.epoch.slot()) return;
  const bool is_younger = entry.epoch().clock() > survey.cover.epoch().clock();
  const bool is_wider = entry.epoch() == survey.cover.epoch() && (survey.cover.mask() & ~entry.mask()) == 0;
  if (survey.cover.is_empty() || is_younger || is_wider) survey.cover = entry;
}

bool may_leave(CellEntry entry, const CellAccess& access, const ThreadView& view, const ChainSurvey& survey) {
  if (may_go(entry, access, view)) return true;
  return !survey.cover.is_empty() && entry != survey.cover && is_covered(entry, survey.cover, access, view);
}

void survey_entry(std::atomic<std::uint64_t>& place, CellEntry entry, const CellAccess& access, const ThreadView& view,
                  ChainSurvey& survey) {
  if (entry.is_empty()) {
    if (survey.place == nullptr) {
      survey.place = &place;
      survey.old_value = entry;
      survey.new_value = access.entry();
    }
    return;
  }
  if (is_same_epoch(entry, access)) survey.is_same_epoch = true;
  if (!survey.merges && can_merge(entry, access)) {
    const CellEntry together = merged(entry, access, view);
    if (!together.is_empty()) {
      survey.merges = true;
      survey.place = &place;
      survey.old_value = entry;
      survey.new_value = together;
      return;
    }
  }
  if (!may_leave(entry, access, view, survey)) {
    ++survey.needed;
    survey.last_needed = entry;
  } else if (survey.place == nullptr) {
    survey.place = &place;
    survey.old_value = entry;
    survey.new_value = access.entry();
  }
}

// Puts somebody else's entry back into a cell from which it was unlinked.
void insert_again(ThreadState& self, ShadowCell& cell, std::uint64_t entry) {
  for (;;) {
    std::uint64_t second = cell.entries[1].load(std::memory_order_acquire);
    if (!is_link(second)) {
      const std::uint64_t link = make_block(second, entry);
      if (link == 0) return count_loss(Loss::kNoCellBlock);
      if (cell.entries[1].compare_exchange_strong(second, link, std::memory_order_seq_cst)) return;
      discard_block(link);
      continue;
    }
    bool is_in = false;
    self.uses_block.store(true, std::memory_order_seq_cst);
    if (cell.entries[1].load(std::memory_order_seq_cst) == second) {
      for_each_in_chain(second, [&](std::atomic<std::uint64_t>& place, CellEntry old) {
        std::uint64_t expected = 0;
        is_in = old.is_empty() && place.compare_exchange_strong(expected, entry, std::memory_order_seq_cst);
        return !is_in;
      });
      is_in = is_in && cell.entries[1].load(std::memory_order_seq_cst) == second;
    }
    self.uses_block.store(false, std::memory_order_release);
    if (is_in) return;
  }
}

// At most one entry besides the own must stay: the cell needs no chain any more.
// The own entry is published and the chain unlinked; then the chain is looked at
// once more. An entry that came in meanwhile is seen there, checked and put back;
// one that comes later finds the link gone and tries again.
Outcome collapse_chain(ThreadState& self, ShadowCell& cell, std::uint64_t link, CellEntry first, bool first_stays,
                       const ChainSurvey& survey, const CellAccess& access, Address word) {
  const ThreadView view(self);
  const CellEntry own = survey.merges ? survey.new_value : access.entry();
  CaughtRaces caught;
  if (!first_stays) {
    if (is_race(first, access, view)) caught.add(first);
    if (!replace_entry(cell.entries[0], first.bits(), own.bits())) return Outcome::kAgain;
  }
  const std::uint64_t in_second = first_stays ? own.bits() : (survey.needed != 0 ? survey.last_needed.bits() : 0);
  std::uint64_t expected = link;
  if (!cell.entries[1].compare_exchange_strong(expected, in_second, std::memory_order_seq_cst)) {
    if (first_stays) return Outcome::kAgain;
    look_at_other(cell.entries[1], access, view, caught);
    caught.report(self, access, word);
    return Outcome::kDone;
  }
  if (first_stays) look_at_other(cell.entries[0], access, view, caught);
  catch_races_in_chain(link, access, view, caught);
  for_each_in_chain(link, [&](const std::atomic<std::uint64_t>&, CellEntry entry) {
    const bool is_expected = entry.is_empty() || entry.bits() == in_second || entry == survey.old_value ||
                             may_leave(entry, access, view, survey) || is_same_epoch(entry, access);
    if (!is_expected) insert_again(self, cell, entry.bits());
    return true;
  });
  release_chain(link);
  caught.report(self, access, word);
  return Outcome::kDone;
}

// Publishes the entry in the chain, or in a new block at its end.
bool publish_in_chain(const ChainSurvey& survey, const CellAccess& access) {
  if (survey.place != nullptr) {
    std::uint64_t expected = survey.old_value.bits();
    return survey.place->compare_exchange_strong(expected, survey.new_value.bits(), std::memory_order_seq_cst);
  }
  std::uint64_t displaced = survey.last->load(std::memory_order_relaxed);
  if (is_link(displaced)) return false;
  const std::uint64_t link = make_block(displaced, access.entry().bits());
  if (link == 0) {
    count_loss(Loss::kNoCellBlock);
    return survey.last->compare_exchange_strong(displaced, access.entry().bits(), std::memory_order_seq_cst);
  }
  if (survey.last->compare_exchange_strong(displaced, link, std::memory_order_seq_cst)) return true;
  discard_block(link);
  return false;
}

}  // namespace

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

Outcome check_chain(ThreadState& self, ShadowCell& cell, std::uint64_t link, const CellAccess& access, Address word) {
  const ThreadView view(self);
  const CellEntry first = CellEntry::from_bits(cell.entries[0].load(std::memory_order_acquire));
  ChainSurvey survey;
  find_cover(first, access, survey);
  for_each_in_chain(link, [&](const std::atomic<std::uint64_t>&, CellEntry entry) {
    find_cover(entry, access, survey);
    return true;
  });
  survey_entry(cell.entries[0], first, access, view, survey);
  const bool first_stays = survey.needed != 0;
  for_each_in_chain(link, [&](std::atomic<std::uint64_t>& place, CellEntry entry) {
    survey_entry(place, entry, access, view, survey);
    survey.last = &place;
    return !survey.is_same_epoch;
  });
  if (survey.is_same_epoch) {
    return cell.entries[1].load(std::memory_order_seq_cst) == link ? Outcome::kDone : Outcome::kAgain;
  }
  if (survey.needed <= 1) return collapse_chain(self, cell, link, first, first_stays, survey, access, word);

  self.uses_block.store(true, std::memory_order_seq_cst);
  if (cell.entries[1].load(std::memory_order_seq_cst) != link) {
    self.uses_block.store(false, std::memory_order_release);
    return Outcome::kAgain;
  }
  const bool replaced_races = survey.place != nullptr && !survey.merges && is_race(survey.old_value, access, view);
  Outcome outcome = Outcome::kAgain;
  CaughtRaces caught;
  if (publish_in_chain(survey, access)) {
    if (replaced_races) caught.add(survey.old_value);
    if (survey.place != &cell.entries[0]) look_at_other(cell.entries[0], access, view, caught);
    catch_races_in_chain(link, access, view, caught);
    // Unlinked meanwhile: what was published there is not seen by others.
    const bool in_cell = survey.place == &cell.entries[0];
    if (in_cell || cell.entries[1].load(std::memory_order_seq_cst) == link) outcome = Outcome::kDone;
  }
  self.uses_block.store(false, std::memory_order_release);
  if (outcome == Outcome::kDone) caught.report(self, access, word);
  return outcome;
}

// Both entries must stay: the second moves to a block, together with the new one.
Outcome extend_cell(ThreadState& self, ShadowCell& cell, const CellEntry (&seen)[2], const CellAccess& access,
                    Address word) {
  const ThreadView view(self);
  if (ask_for_known_to_all() == Answer::kNew) return Outcome::kAgain;
  CaughtRaces caught;
  if (is_race(seen[1], access, view)) caught.add(seen[1]);
  const std::uint64_t link = make_block(seen[1].bits(), access.entry().bits());
  if (link == 0) {
    count_loss(Loss::kNoCellBlock);
    look_at_other(cell.entries[0], access, view, caught);
    caught.report(self, access, word);
    return Outcome::kDone;
  }
  std::uint64_t expected = seen[1].bits();
  if (!cell.entries[1].compare_exchange_strong(expected, link, std::memory_order_seq_cst)) {
    discard_block(link);
    return Outcome::kAgain;
  }
  look_at_other(cell.entries[0], access, view, caught);
  caught.report(self, access, word);
  return Outcome::kDone;
}

}  // namespace deadheat::runtime
