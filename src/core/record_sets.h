// SPDX-License-Identifier: Apache-2.0
// RecordSets: pools of the sets that some histories need, addressed by number so
// that a cell spends four bytes on "maybe a set". A set has at most one record
// per slot, sorted by slot: a later record of a slot replaces the earlier one,
// which it subsumes. Number 0 is "no set".
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/growable_array.h"
#include "core/access_record.h"
#include "core/epoch.h"

namespace deadheat {

class RecordSets {
 public:
  using Set = GrowableArray<AccessRecord>;

  RecordSets() : sets_(1) {}

  std::uint32_t make() {
    if (free_.empty()) {
      sets_.emplace_back();
      return static_cast<std::uint32_t>(sets_.size() - 1);
    }
    const std::uint32_t number = free_.back();
    free_.pop_back();
    return number;
  }
  std::uint32_t copy(std::uint32_t number) {
    if (number == 0) return 0;
    const std::uint32_t twin = make();
    sets_[twin] = sets_[number];
    return twin;
  }
  void release(std::uint32_t number) {
    if (number == 0) return;
    sets_[number].reset();
    free_.push_back(number);
  }

  [[nodiscard]] const Set& operator[](std::uint32_t number) const { return sets_[number]; }

  void put(std::uint32_t number, const AccessRecord& record) {
    Set& set = sets_[number];
    const AccessRecord* at = position(set, record.epoch().slot());
    if (at != set.end() && at->epoch().slot() == record.epoch().slot()) {
      set[static_cast<std::uint32_t>(at - set.begin())] = record;
    } else {
      set.insert(static_cast<std::uint32_t>(at - set.begin()), record);
    }
  }
  [[nodiscard]] bool contains(std::uint32_t number, Epoch epoch) const {
    const Set& set = sets_[number];
    const AccessRecord* at = position(set, epoch.slot());
    return at != set.end() && at->epoch() == epoch;
  }

 private:
  static const AccessRecord* position(const Set& set, ThreadSlot slot) {
    return std::lower_bound(set.begin(), set.end(), slot, [](const AccessRecord& record, ThreadSlot wanted) {
      return record.epoch().slot() < wanted;
    });
  }

  std::vector<Set> sets_;
  std::vector<std::uint32_t> free_;
};

// One history: a single record, or a set while `set` is not 0. A view of parts
// of a cell, for the duration of a rule (concept AccessHistory).
class SingleOrSet {
 public:
  SingleOrSet(AccessRecord& single, std::uint32_t& set, RecordSets& sets) : single_(single), set_(set), sets_(sets) {}

  [[nodiscard]] bool is_empty() const { return set_ == 0 && single_.epoch().is_empty(); }
  [[nodiscard]] bool is_shared() const { return set_ != 0; }
  [[nodiscard]] bool contains(Epoch epoch) const {
    return set_ == 0 ? single_.epoch() == epoch : sets_.contains(set_, epoch);
  }
  template <ClockView View>
  [[nodiscard]] bool is_before(const View& view) const {
    if (set_ == 0) return happened_before(single_.epoch(), view);
    return std::all_of(sets_[set_].begin(), sets_[set_].end(),
                       [&](const AccessRecord& record) { return happened_before(record.epoch(), view); });
  }
  // Calls visit(record) for the records that do not happen before the view.
  template <ClockView View, class Visit>
  void for_each_concurrent(const View& view, Visit&& visit) const {
    if (set_ == 0) {
      if (!happened_before(single_.epoch(), view)) visit(single_);
      return;
    }
    for (const AccessRecord& record : sets_[set_]) {
      if (!happened_before(record.epoch(), view)) visit(record);
    }
  }
  void replace(const AccessRecord& record) {
    clear();
    single_ = record;
  }
  void add(const AccessRecord& record) {
    if (set_ == 0) {
      set_ = sets_.make();
      if (!single_.epoch().is_empty()) sets_.put(set_, single_);
      single_ = AccessRecord{};
    }
    sets_.put(set_, record);
  }
  void clear() {
    if (set_ != 0) {
      sets_.release(set_);
      set_ = 0;
    }
    single_ = AccessRecord{};
  }

 private:
  AccessRecord& single_;
  std::uint32_t& set_;
  RecordSets& sets_;
};

}  // namespace deadheat
