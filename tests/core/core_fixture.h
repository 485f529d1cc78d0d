// SPDX-License-Identifier: Apache-2.0
// What several tests of core/ begin with.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <set>

#include "core/sync_clock.h"
#include "model/identity.h"

namespace deadheat {

inline constexpr Address kTop = ~Address{0};

// The clock of a thread that knows nothing of others.
inline ThreadClock fresh(std::uint32_t number) { return {ThreadId{number}, ThreadSlot{number}, VectorClock{}}; }

// Counts the cells of a shadow, to find those released twice or never. Without a
// history, no handle.
struct CountingPolicy {
  struct Cell {
    int handle = 0;
    std::uint32_t last = 0;
  };
  Cell copy(const Cell& cell) { return {cell.handle == 0 ? 0 : make(), cell.last}; }
  void release(Cell& cell) {
    if (cell.handle != 0) {
      EXPECT_EQ(live.erase(cell.handle), 1U) << "released twice";
    }
    cell = Cell{};
  }
  static bool interchangeable(const Cell& one, const Cell& other) { return one.last == other.last; }
  int make() {
    live.insert(++next);
    return next;
  }
  std::set<int> live;
  int next = 0;
};

}  // namespace deadheat
