// SPDX-License-Identifier: Apache-2.0
// VectorClock: how much of each thread is known, one clock per slot.
//
// Components beyond the stored size are 0, so a clock is as long as the highest
// slot it has heard of: two threads cost two words, whatever the limit is.
// Joins and comparisons are linear in that length; the rules avoid them where
// an epoch is enough.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/growable_array.h"
#include "core/epoch.h"

namespace deadheat {

template <class Source = HeapSource>
class BasicVectorClock {
 public:
  [[nodiscard]] Clock clock_of(ThreadSlot slot) const { return raw(slot) < clocks_.size() ? clocks_[raw(slot)] : 0; }

  void set(ThreadSlot slot, Clock clock) {
    if (raw(slot) >= clocks_.size()) clocks_.resize(raw(slot) + 1);
    clocks_[raw(slot)] = clock;
  }

  // Pointwise maximum.
  void join(const BasicVectorClock& other) {
    if (other.clocks_.size() > clocks_.size()) clocks_.resize(other.clocks_.size());
    for (std::uint32_t slot = 0; slot < other.clocks_.size(); ++slot) {
      clocks_[slot] = std::max(clocks_[slot], other.clocks_[slot]);
    }
  }

  // Pointwise at most.
  [[nodiscard]] bool is_before(const BasicVectorClock& other) const {
    for (std::uint32_t slot = 0; slot < clocks_.size(); ++slot) {
      if (clocks_[slot] > other.clock_of(ThreadSlot{slot})) return false;
    }
    return true;
  }

  [[nodiscard]] std::uint32_t size() const { return clocks_.size(); }
  [[nodiscard]] bool empty() const { return clocks_.empty(); }
  void clear() { clocks_.clear(); }
  // clear() that also gives the memory back.
  void reset() { clocks_.reset(); }

  // Equal as functions: trailing zeros do not count.
  friend bool operator==(const BasicVectorClock& one, const BasicVectorClock& other) {
    return one.is_before(other) && other.is_before(one);
  }

 private:
  GrowableArray<Clock, Source> clocks_;
};

using VectorClock = BasicVectorClock<>;

}  // namespace deadheat
