// SPDX-License-Identifier: Apache-2.0
// A plan for a cell that has outgrown its two entries; the rules are those of
// cell_rules.h.
//
// An access takes the place of an entry that may go, merges with one of its own
// epoch, or needs a further place. As soon as at most one entry must stay besides
// the access, two entries suffice again: without this, memory that was once used
// byte by byte would stay expensive for ever.
#pragma once

#include <cstdint>
#include <span>

#include "core/cell_rules.h"

namespace deadheat {

struct ChainPlan {
  enum class Step : std::uint8_t {
    kNothing,  // same epoch
    kPlace,    // entry `index` becomes `value`
    kShrink,   // only `value` and `stays` are left; `index` as for kPlace
    kGrow,     // all must stay
  };
  Step step = Step::kNothing;
  int index = -1;
  CellEntry value;
  CellEntry stays;
};

// The youngest entry of the access's slot, of those the one for most bytes: what it
// covers may go. Without this, a word that is written in parts keeps an entry per
// epoch.
[[nodiscard]] constexpr CellEntry youngest_own(std::span<const CellEntry> entries, CellEntry own) {
  CellEntry cover;
  for (const CellEntry entry : entries) {
    if (entry.is_empty() || !entry.has_slot_of(own)) continue;
    const bool is_younger = entry.epoch().clock() > cover.epoch().clock();
    const bool is_wider = entry.epoch() == cover.epoch() && (cover.mask() & ~entry.mask()) == 0;
    if (cover.is_empty() || is_younger || is_wider) cover = entry;
  }
  return cover;
}

template <CellView View>
[[nodiscard]] constexpr ChainPlan plan_chain(std::span<const CellEntry> entries, const CellAccess& access,
                                             const View& view) {
  using Step = ChainPlan::Step;
  ChainPlan plan{Step::kGrow, -1, access.entry(), {}};
  const CellEntry cover = youngest_own(entries, access.entry());
  bool is_merged = false;
  std::uint32_t needed = 0;
  for (int index = 0; index < static_cast<int>(entries.size()); ++index) {
    const CellEntry entry = entries[index];
    if (entry.is_empty()) {
      if (plan.index < 0) plan.index = index;
      continue;
    }
    if (is_same_epoch(entry, access)) return {};
    if (!is_merged && can_merge(entry, access)) {
      const CellEntry together = merged(entry, access, view);
      if (!together.is_empty()) {
        is_merged = true;
        plan.index = index;
        plan.value = together;
        continue;
      }
    }
    const bool may_leave =
        may_go(entry, access, view) || (entry != cover && !cover.is_empty() && is_covered(entry, cover, access, view));
    if (!may_leave) {
      ++needed;
      plan.stays = entry;
    } else if (plan.index < 0) {
      plan.index = index;
    }
  }
  if (needed <= 1) {
    plan.step = Step::kShrink;
    if (needed == 0) plan.stays = CellEntry{};
  } else if (plan.index >= 0) {
    plan.step = Step::kPlace;
  }
  return plan;
}

}  // namespace deadheat
