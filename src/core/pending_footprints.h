// SPDX-License-Identifier: Apache-2.0
// What a thread has accessed in arrays since its clocks last changed, and not yet
// checked: a footprint for each place in the code, by size and kind of access.
#pragma once

#include <cstdint>
#include <vector>

#include "base/flat_map.h"
#include "core/access_record.h"
#include "core/array_index.h"
#include "core/footprint.h"
#include "core/sync_clock.h"
#include "model/finding.h"

namespace deadheat {

// An access as the rules and reports want it, whatever bytes it touched.
template <class Thread>
struct BasicObservedAccess {
  const Thread* clock = nullptr;
  AccessRecord record;
  std::uint64_t size = 0;
  std::uint64_t event_index = 0;
};
using ObservedAccess = BasicObservedAccess<ThreadClock>;

struct PendingFootprint {
  ObservedAccess access;  // the first; the others differ from it in address and event
  AccessKind kind = AccessKind::kRead;
  ArrayNumber array = ArrayNumber::kNone;  // kNone: nothing is pending
  Address array_begin = 0;
  std::uint64_t last_offset = 0;  // the last in the array at which an access of this size fits
  GrowingFootprint growing;
  std::uint64_t accesses = 0;
  std::uint32_t place = 0;               // in the table of its buffer
  PendingFootprint* previous = nullptr;  // others into the same array
  PendingFootprint* next = nullptr;

  [[nodiscard]] bool is_for(AccessKind other_kind, const ObservedAccess& other) const {
    return access.record == other.record && kind == other_kind && access.size == other.size;
  }
  [[nodiscard]] bool takes(Address address) {
    return array != ArrayNumber::kNone && address - array_begin <= last_offset && growing.extends(address);
  }
};

// Those of one thread.
class PendingFootprints {
 public:
  static constexpr std::uint32_t kLimit = 2048;

  [[nodiscard]] PendingFootprint* find(AccessKind kind, const ObservedAccess& access) const {
    if (table_.empty()) return nullptr;
    for (std::uint32_t at = home(kind, access);; at = (at + 1) & mask()) {
      PendingFootprint* found = table_[at];
      if (found == nullptr || found->is_for(kind, access)) return found;
    }
  }
  [[nodiscard]] bool is_empty() const { return in_order_.empty(); }
  [[nodiscard]] bool is_full() const { return in_order_.size() == kLimit; }

  // Not full; it is for an access that find() does not find.
  void add(PendingFootprint& footprint) {
    if (2 * (in_order_.size() + 1) > table_.size()) grow();
    in_order_.push_back(&footprint);
    place(footprint);
  }
  // Calls visit(footprint) for each, in the order of their first accesses.
  template <class Visit>
  void for_each(Visit&& visit) {
    for (PendingFootprint* footprint : in_order_) visit(*footprint);
  }
  void clear() {
    for (const PendingFootprint* footprint : in_order_) table_[footprint->place] = nullptr;
    in_order_.clear();
  }

 private:
  [[nodiscard]] std::uint32_t mask() const { return static_cast<std::uint32_t>(table_.size()) - 1; }
  [[nodiscard]] std::uint32_t home(AccessKind kind, const ObservedAccess& access) const {
    const std::uint64_t where = (std::uint64_t{raw(access.record.situation())} << 32U) | raw(access.record.site());
    return static_cast<std::uint32_t>(spread(where + spread(access.size * 8 + raw(kind))) >> 20U) & mask();
  }
  void place(PendingFootprint& footprint) {
    std::uint32_t at = home(footprint.kind, footprint.access);
    while (table_[at] != nullptr) at = (at + 1) & mask();
    table_[at] = &footprint;
    footprint.place = at;
  }
  void grow() {
    table_.assign(table_.empty() ? 16 : 2 * table_.size(), nullptr);
    for (PendingFootprint* footprint : in_order_) place(*footprint);
  }

  std::vector<PendingFootprint*> table_;  // by hash, at most half full; a power of two
  std::vector<PendingFootprint*> in_order_;
};

}  // namespace deadheat
