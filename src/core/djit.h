// SPDX-License-Identifier: Apache-2.0
// Djit+ (GENERIC in the PACER paper, Algorithms 5 and 6): the cells of the
// detector that FastTrack improves upon.
//
// Every variable keeps, per kind of access, the last access of every thread,
// and nothing is ever replaced by anything but a newer access of the same
// thread (and a free of memory that nobody has touched, by a newer free). Checks are O(threads). The one shortcut is
// Djit+'s own: an access that repeats its thread's access of the same kind in the same epoch adds nothing. Kept as a
// baseline and as a second opinion.
#pragma once

#include <cstdint>
#include <vector>

#include "core/access_record.h"
#include "core/access_rules.h"
#include "core/record_sets.h"

namespace deadheat {

class Djit {
 public:
  struct Cell {
    std::uint32_t sets[4] = {};  // by AccessKind of the history; numbers into sets_
  };

  template <AccessKind kKind, ClockView View, class OnRace>
  RuleStep apply(const View& self, Cell& cell, const AccessRecord& now, OnRace&& on_race) {
    constexpr AccessKind kOwn = history_of(kKind);
    std::uint32_t& own = cell.sets[raw(kOwn)];
    if (kKind != AccessKind::kFree && own != 0 && sets_[own].contains(self.epoch())) return RuleStep::kSameEpoch;
    rules::any_history([&]<AccessKind kHistory>() {
      const std::uint32_t number = cell.sets[raw(kHistory)];
      if constexpr (conflict(kHistory, kOwn)) {
        if (number != 0 && !is_before(sets_[number], self)) on_race.template operator()<kHistory>(sets_[number]);
      }
      return false;
    });
    if (own == 0) own = sets_.make();
    sets_[own].put(now);
    return RuleStep::kShared;
  }

  Cell copy(const Cell& cell) {
    Cell twin;
    for (int kind = 0; kind < 4; ++kind) twin.sets[kind] = sets_.copy(cell.sets[kind]);
    return twin;
  }
  void release(Cell& cell) {
    for (std::uint32_t& set : cell.sets) {
      sets_.release(set);
      set = 0;
    }
  }
  [[nodiscard]] static bool interchangeable(const Cell& /*one*/, const Cell& /*other*/) { return false; }
  template <class Visit>
  void for_each_record(const Cell& cell, Visit&& visit) {
    for (const std::uint32_t set : cell.sets) {
      if (set != 0) sets_[set].for_each(visit);
    }
  }
  Cell cell_after_free(const AccessRecord& record) {
    Cell cell;
    cell.sets[raw(AccessKind::kWrite)] = sets_.make();
    sets_[cell.sets[raw(AccessKind::kWrite)]].put(record);
    return cell;
  }

 private:
  template <ClockView View>
  static bool is_before(const RecordSet& set, const View& view) {
    return set.all_of([&](const AccessRecord& record) { return happened_before(record.epoch(), view); });
  }

  RecordSets sets_;
};

}  // namespace deadheat
