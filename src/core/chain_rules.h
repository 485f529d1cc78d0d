// SPDX-License-Identifier: Apache-2.0
// A plan for a cell that has outgrown its two entries; the rules are those of
// cell_rules.h.
//
// An access takes the place of an entry that may go, merges with one of its own
// epoch, or needs a further place. What younger entries of its slot subsume on all
// its bytes may go as well: whoever races with it races with one of those. So a
// word keeps what its threads did last, and not an entry per epoch. As soon as
// few entries must stay, they move together: without this, memory that was once
// used byte by byte would stay expensive for ever. A word whose accesses are counted
// keeps its chain: only there is every access seen (CellEntry::counting).
#pragma once

#include <cstdint>
#include <span>

#include "core/cell_rules.h"

namespace deadheat {

struct ChainPlan {
  static constexpr int kMostStaying = 3;
  enum class Step : std::uint8_t {
    kNothing,  // same epoch
    kPlace,    // entry `index` becomes `value`
    kShrink,   // only `value` and `stays` must be left; `index` as for kPlace
    kGrow,     // all must stay
  };
  Step step = Step::kNothing;
  int index = -1;
  CellEntry value;
  // What must stay besides the value, if it is so little.
  CellEntry stays[kMostStaying];
  int staying = 0;
};

// Whether younger entries of its slot, the access helping, stand for this one. An
// equal one does not: while an entry moves to another place it is in both, and
// either may be the one that is left.
template <CellView View>
[[nodiscard]] constexpr bool is_covered_by_all(std::span<const CellEntry> entries, std::size_t index,
                                               const CellAccess& access, const View& view) {
  const CellEntry older = entries[index];
  ByteMask left = older.mask();
  for (std::size_t other = 0; other < entries.size() && left != 0; ++other) {
    const CellEntry younger = entries[other];
    if (younger == older || younger.is_empty() || !older.is_subsumed_by(younger.kind())) continue;
    if (younger.epoch() == older.epoch() ? other > index : !view.is_known_with(older, younger)) continue;
    left = static_cast<ByteMask>(left & ~younger.mask());
  }
  if ((left & ~access.mask) != 0) return false;
  return left == 0 || (older.is_subsumed_by(access.kind) && view.happened_before(older));
}

namespace rules {

// `looks_around`: entries that younger ones stand for are found; each is compared with
// all others.
template <CellView View>
[[nodiscard]] constexpr ChainPlan plan_chain(std::span<const CellEntry> entries, const CellAccess& access,
                                             const View& view, bool looks_around) {
  using Step = ChainPlan::Step;
  ChainPlan plan;
  plan.value = access.entry();
  bool is_merged = false;
  bool is_counted = false;
  for (std::size_t index = 0; index < entries.size(); ++index) {
    const CellEntry entry = entries[index];
    if (entry.is_empty()) {
      if (plan.index < 0) plan.index = static_cast<int>(index);
      continue;
    }
    if (entry.is_counting()) {
      is_counted = true;
      continue;
    }
    if (is_same_epoch(entry, access)) return {};
    if (!is_merged && can_merge(entry, access)) {
      const CellEntry together = merged(entry, access, view);
      if (!together.is_empty()) {
        is_merged = true;
        plan.index = static_cast<int>(index);
        plan.value = together;
        continue;
      }
    }
    if (!may_go(entry, access, view) && !(looks_around && is_covered_by_all(entries, index, access, view))) {
      if (plan.staying < ChainPlan::kMostStaying) plan.stays[plan.staying] = entry;
      ++plan.staying;
    } else if (plan.index < 0) {
      plan.index = static_cast<int>(index);
    }
  }
  if (plan.staying <= 1 && !is_counted) {
    plan.step = Step::kShrink;
  } else {
    plan.step = plan.index >= 0 ? Step::kPlace : Step::kGrow;
  }
  return plan;
}

}  // namespace rules

template <CellView View>
[[nodiscard]] constexpr ChainPlan plan_chain(std::span<const CellEntry> entries, const CellAccess& access,
                                             const View& view) {
  // In a long chain only when there is no other place.
  constexpr std::size_t kFew = 6;
  if (entries.size() > kFew) {
    const ChainPlan plan = rules::plan_chain(entries, access, view, /*looks_around=*/false);
    if (plan.step != ChainPlan::Step::kGrow) return plan;
  }
  return rules::plan_chain(entries, access, view, /*looks_around=*/true);
}

}  // namespace deadheat
