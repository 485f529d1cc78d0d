// SPDX-License-Identifier: Apache-2.0
// The access rules: what an access checks, and what it leaves behind.
//
// The one statement of FastTrack's rules (PACER paper, Algorithms 7 and 8, Table
// 4), generalised to atomic accesses. The offline detectors call it directly,
// an online one wraps it in a compare-and-swap, the tests enumerate it.
//
// A location has four histories, one per kind of access: plain writes, plain
// reads, atomic writes, atomic reads. Everything follows from conflict() in
// model/finding.h:
//
//   Check.   An access races with every recorded access of a conflicting kind
//            that does not happen before it.
//   Subsume. A newer access N makes an older, ordered one O redundant if all
//            kinds that conflict with O conflict with N. (A later access A not
//            ordered after O is not ordered after N either, so A races with N
//            whenever it races with O.) Thus a plain write clears all
//            histories, as in the paper, and a read replaces an ordered read;
//            but an atomic write must not clear a plain read, because a later
//            atomic write races with the read and not with the atomic write.
//   Same epoch. If the thread itself made a subsuming access in this very
//            epoch, nothing is to be done: nothing can have been ordered
//            between the two, so whatever this access races with, the recorded
//            one raced with as well, and the location has been reported.
//
// Plain writes that do not race are totally ordered, so their history is one
// epoch. The other kinds can be concurrent among themselves: their history is
// one epoch while they happen to be ordered, and a set with at most one epoch
// per thread when not.
//
// Guarantee: of each location the first race is found, and every report is a
// race. After a report the location goes on being checked.
//
// A sampling detector (pacer.h) also has accesses that it does not record. They
// are checked in the same way, and remove what they would have replaced.
#pragma once

#include <concepts>
#include <cstdint>

#include "core/epoch.h"
#include "model/finding.h"

namespace deadheat {

// The history in which an access is recorded.
[[nodiscard]] constexpr AccessKind history_of(AccessKind kind) {
  return kind == AccessKind::kFree ? AccessKind::kWrite : kind;
}

inline constexpr AccessKind kHistories[] = {AccessKind::kWrite, AccessKind::kRead, AccessKind::kAtomicWrite,
                                            AccessKind::kAtomicRead};

// A newer access makes an ordered older one redundant.
[[nodiscard]] constexpr bool subsumes(AccessKind newer, AccessKind older) {
  for (const AccessKind later : kHistories) {
    if (conflict(later, older) && !conflict(later, newer)) return false;
  }
  return true;
}

// Which rule an access took, by history and step; each is counted.
enum class RuleStep : std::uint8_t {
  kSameEpoch,  // nothing to do
  kExclusive,  // the history is this access alone now
  kShare,      // the history becomes a set: the recorded access is not ordered
  kShared,     // the history was a set already
};
inline constexpr int kRuleStepCount = 4;

// One history of one location, as the rules need it.
template <class History, class View, class Record>
concept AccessHistory = requires(History history, const View& view, const Record& record) {
  { history.is_empty() } -> std::convertible_to<bool>;
  { history.is_shared() } -> std::convertible_to<bool>;
  { history.contains(view.epoch()) } -> std::convertible_to<bool>;
  { history.is_before(view) } -> std::convertible_to<bool>;  // all of it happens before the view
  history.replace(record);                                   // forget, then this one alone
  history.add(record);                                       // becomes or stays a set
  history.clear();
};

namespace rules {

// Calls step<kHistory>() for each history in turn, stopping at the first true.
template <class Step>
constexpr bool any_history(Step&& step) {
  return step.template operator()<kHistories[0]>() || step.template operator()<kHistories[1]>() ||
         step.template operator()<kHistories[2]>() || step.template operator()<kHistories[3]>();
}

// Calls on_race for each history that an access of kind kOwn races with.
template <AccessKind kOwn, ClockView View, class Cell, class OnRace>
constexpr void check_histories(const View& self, Cell&& cell, OnRace&& on_race) {
  any_history([&]<AccessKind kHistory>() {
    if constexpr (conflict(kHistory, kOwn)) {
      auto history = cell.template history<kHistory>();
      if (!history.is_before(self)) [[unlikely]]
        on_race.template operator()<kHistory>(history);
    }
    return false;
  });
}

// What a plain write leaves of the histories.
template <class Cell>
constexpr void clear_histories(Cell&& cell) {
  any_history([&]<AccessKind kHistory>() {
    cell.template history<kHistory>().clear();
    return false;
  });
}

// What an access of another kind leaves of the histories that are not its own.
template <AccessKind kOwn, ClockView View, class Cell>
constexpr void clear_subsumed(const View& self, Cell&& cell) {
  any_history([&]<AccessKind kHistory>() {
    if constexpr (kHistory != kOwn && subsumes(kOwn, kHistory)) {
      auto history = cell.template history<kHistory>();
      if (!history.is_empty() && history.is_before(self)) history.clear();
    }
    return false;
  });
}

}  // namespace rules

// The thread itself made a subsuming access in this very epoch: nothing is to be
// done. A free is recorded even after a write in the same epoch: reports then
// name the free, which is what a later use collides with.
template <AccessKind kKind, ClockView View, class Cell>
[[nodiscard]] bool repeats_epoch(const View& self, Cell&& cell) {
  return rules::any_history([&]<AccessKind kHistory>() {
    if constexpr (kKind != AccessKind::kFree && subsumes(kHistory, history_of(kKind)))
      return cell.template history<kHistory>().contains(self.epoch());
    return false;
  });
}

// Applies an access of kind kKind by the thread `self` to a location. The cell
// gives its histories by `template history<AccessKind>()`; `now` is what gets
// recorded. For each history with races, calls on_race.operator()<kHistory>
// (history) before anything changes; it finds the guilty entries by the same
// happened_before test.
template <AccessKind kKind, ClockView View, class Cell, class Record, class OnRace>
RuleStep apply_access(const View& self, Cell&& cell, const Record& now, OnRace&& on_race) {
  constexpr AccessKind kOwn = history_of(kKind);

  if (repeats_epoch<kKind>(self, cell)) return RuleStep::kSameEpoch;
  rules::check_histories<kOwn>(self, cell, on_race);

  auto own = cell.template history<kOwn>();
  static_assert(AccessHistory<decltype(own), View, Record>);
  if constexpr (kOwn == AccessKind::kWrite) {
    const bool had_readers = cell.template history<AccessKind::kRead>().is_shared();
    rules::clear_histories(cell);
    own.replace(now);
    return had_readers ? RuleStep::kShared : RuleStep::kExclusive;
  }

  rules::clear_subsumed<kOwn>(self, cell);
  if (own.is_shared()) {
    own.add(now);
    return RuleStep::kShared;
  }
  if (own.is_before(self)) {
    own.replace(now);
    return RuleStep::kExclusive;
  }
  own.add(now);
  return RuleStep::kShare;
}

// The same for an access that is not sampled (PACER paper, Table 4, s = false).
// What it races with is reported; what it would have replaced goes, because a race
// of that with a later access is a race of this one as well, and not the shortest.
template <AccessKind kKind, ClockView View, class Cell, class OnRace>
void apply_unsampled_access(const View& self, Cell&& cell, OnRace&& on_race) {
  constexpr AccessKind kOwn = history_of(kKind);

  if (repeats_epoch<kKind>(self, cell)) return;
  rules::check_histories<kOwn>(self, cell, on_race);

  if constexpr (kOwn == AccessKind::kWrite) {
    rules::clear_histories(cell);
  } else {
    rules::clear_subsumed<kOwn>(self, cell);
    auto own = cell.template history<kOwn>();
    if (own.is_shared()) {
      own.remove(self.epoch().slot());
    } else if (own.is_before(self)) {
      own.clear();
    }
  }
}

}  // namespace deadheat
