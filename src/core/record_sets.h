// SPDX-License-Identifier: Apache-2.0
// RecordSets: pools of the sets that some histories need, addressed by number so
// that a cell spends four bytes on "maybe a set". A set has at most one record
// per slot: a later record of a slot replaces the earlier one, which it
// subsumes. Number 0 is "no set".
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/growable_array.h"
#include "core/access_record.h"
#include "core/epoch.h"

namespace deadheat {

// Open addressing by the low bits of the slot: slots are small dense numbers,
// so a set that many threads share is nearly an array indexed by slot.
class RecordSet {
 public:
  void put(const AccessRecord& record) {
    if ((count_ + 1) * 5 / 4 >= table_.size()) grow();  // keeps a fifth empty
    AccessRecord& at = position(record.epoch().slot());
    if (at.epoch().is_empty()) ++count_;
    at = record;
  }
  [[nodiscard]] bool contains(Epoch epoch) const { return position(epoch.slot()).epoch() == epoch; }
  [[nodiscard]] std::uint32_t size() const { return count_; }

  // Forgets the record of the slot, if there is one. What follows it moves up, so
  // that searches still find it.
  void remove(ThreadSlot slot) {
    AccessRecord& gone = position(slot);
    if (gone.epoch().is_empty()) return;
    const std::uint32_t mask = table_.size() - 1;
    auto hole = static_cast<std::uint32_t>(&gone - table_.begin());
    for (std::uint32_t at = (hole + 1) & mask; !table_[at].epoch().is_empty(); at = (at + 1) & mask) {
      const std::uint32_t distance = (at - raw(table_[at].epoch().slot())) & mask;
      if (distance < ((at - hole) & mask)) continue;  // its home lies after the hole
      table_[hole] = table_[at];
      hole = at;
    }
    table_[hole] = AccessRecord{};
    --count_;
  }

  // Whether predicate(record) holds for all records.
  template <class Predicate>
  [[nodiscard]] bool all_of(Predicate&& predicate) const {
    return std::all_of(table_.begin(), table_.end(),
                       [&](const AccessRecord& record) { return record.epoch().is_empty() || predicate(record); });
  }
  // Calls visit(record) for the records that do not happen before the view.
  template <ClockView View, class Visit>
  void for_each_concurrent(const View& view, Visit&& visit) const {
    for (const AccessRecord& record : table_) {
      if (!happened_before(record.epoch(), view)) visit(record);
    }
  }
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const AccessRecord& record : table_) {
      if (!record.epoch().is_empty()) visit(record);
    }
  }
  friend bool operator==(const RecordSet& one, const RecordSet& other) {
    return one.count_ == other.count_ && (one.count_ == 0 || one.all_of([&](const AccessRecord& record) {
             return other.position(record.epoch().slot()) == record;
           }));
  }
  // Forgets the records and gives the memory back.
  void reset() {
    table_.reset();
    count_ = 0;
  }

 private:
  // The record of the slot, or the empty place where it belongs. The table is
  // never full.
  [[nodiscard]] const AccessRecord& position(ThreadSlot slot) const {
    const std::uint32_t mask = table_.size() - 1;
    std::uint32_t at = raw(slot) & mask;
    while (!table_[at].epoch().is_empty() && table_[at].epoch().slot() != slot) at = (at + 1) & mask;
    return table_[at];
  }
  [[nodiscard]] AccessRecord& position(ThreadSlot slot) {
    return const_cast<AccessRecord&>(std::as_const(*this).position(slot));
  }
  void grow() {
    GrowableArray<AccessRecord> old = std::move(table_);
    table_ = GrowableArray<AccessRecord>{};
    table_.resize(old.empty() ? 4 : old.size() * 2);
    for (const AccessRecord& record : old) {
      if (!record.epoch().is_empty()) position(record.epoch().slot()) = record;
    }
  }

  GrowableArray<AccessRecord> table_;  // a power of two, once something is in it
  std::uint32_t count_ = 0;
};

class RecordSets {
 public:
  RecordSets() : sets_(1) {}

  // An empty set; put() something before asking it anything.
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

  [[nodiscard]] RecordSet& operator[](std::uint32_t number) { return sets_[number]; }
  // Two sets with the same records, or none twice.
  [[nodiscard]] bool are_equal(std::uint32_t one, std::uint32_t other) const {
    return one == other || (one != 0 && other != 0 && sets_[one] == sets_[other]);
  }

 private:
  std::vector<RecordSet> sets_;
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
    return set_ == 0 ? single_.epoch() == epoch : sets_[set_].contains(epoch);
  }
  template <ClockView View>
  [[nodiscard]] bool is_before(const View& view) const {
    if (set_ == 0) return happened_before(single_.epoch(), view);
    return sets_[set_].all_of([&](const AccessRecord& record) { return happened_before(record.epoch(), view); });
  }
  // Calls visit(record) for the records that do not happen before the view.
  template <ClockView View, class Visit>
  void for_each_concurrent(const View& view, Visit&& visit) const {
    if (set_ != 0) return sets_[set_].for_each_concurrent(view, visit);
    if (!happened_before(single_.epoch(), view)) visit(single_);
  }
  void replace(const AccessRecord& record) {
    clear();
    single_ = record;
  }
  void add(const AccessRecord& record) {
    if (set_ == 0) {
      set_ = sets_.make();
      if (!single_.epoch().is_empty()) sets_[set_].put(single_);
      single_ = AccessRecord{};
    }
    sets_[set_].put(record);
  }
  // What the thread of this slot did; only while shared.
  void remove(ThreadSlot slot) {
    sets_[set_].remove(slot);
    if (sets_[set_].size() == 0) clear();
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
