// SPDX-License-Identifier: Apache-2.0
// The cells of compressed shadow: the same entries and the same rules as in the
// direct-mapped one, for parts of an array instead of words. An entry's mask is
// always full: it is about all bytes of its part. Whoever uses a cell holds the
// lock of its region.
#pragma once

#include <cstdint>

#include "base/growable_array.h"
#include "core/cell_rules.h"
#include "runtime/cell_chains.h"
#include "runtime/page_source.h"
#include "runtime/thread_registry.h"

namespace deadheat::runtime {

struct SlimPolicy {
  using More = GrowableArray<CellEntry, PageSource>;

  struct Cell {
    CellEntry entries[2];
    More* more = nullptr;  // those that do not fit

    [[nodiscard]] bool is_empty() const { return entries[0].is_empty() && entries[1].is_empty() && more == nullptr; }
  };

  static Cell copy(const Cell& cell);
  static void release(Cell& cell);
  [[nodiscard]] static bool interchangeable(const Cell& one, const Cell& other) {
    return one.entries[0] == other.entries[0] && one.entries[1] == other.entries[1] && one.more == nullptr &&
           other.more == nullptr;
  }

  // Nothing would change.
  [[nodiscard]] static bool is_settled(const Cell& cell, const CellAccess& access);
  // The access happens; what it races with is added to `caught`.
  static void apply(Cell& cell, const CellAccess& access, const ThreadView& view, CaughtRaces& caught);

  template <class Visit>
  static void for_each_entry(Cell& cell, Visit&& visit) {
    for (CellEntry& entry : cell.entries) {
      if (!entry.is_empty()) visit(entry);
    }
    if (cell.more == nullptr) return;
    for (CellEntry& entry : *cell.more) {
      if (!entry.is_empty()) visit(entry);
    }
  }
};

}  // namespace deadheat::runtime
