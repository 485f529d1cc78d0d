// SPDX-License-Identifier: Apache-2.0
// FastTrack: the cells of the default full detector.
//
// A cell holds what access_rules.h needs of one variable: the last write and
// the last read in place; a set of reads, and the histories of atomic accesses,
// only while there is need, by number into pools. The common variable costs 40
// bytes and its checks are O(1).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/access_record.h"
#include "core/access_rules.h"
#include "core/record_sets.h"

namespace deadheat {

class FastTrack {
 public:
  struct Cell {
    AccessRecord write;
    AccessRecord read;
    std::uint32_t read_set = 0;
    std::uint32_t atomics = 0;  // index into atomics_; 0: never accessed atomically since the last write
  };

  template <AccessKind kKind, ClockView View, class OnRace>
  RuleStep apply(const View& self, Cell& cell, const AccessRecord& now, OnRace&& on_race) {
    // Most variables never meet an atomic access; for them the rules shrink at
    // compile time to FastTrack's own.
    if constexpr (!is_atomic(kKind)) {
      if (cell.atomics == 0) [[likely]]
        return apply_access<kKind>(self, Histories<Atomics::kNone>{cell, *this}, now, on_race);
    }
    return apply_access<kKind>(self, Histories<Atomics::kMaybe>{cell, *this}, now, on_race);
  }

  // An access that a sampling detector does not record.
  template <AccessKind kKind, ClockView View, class OnRace>
  void apply_unsampled(const View& self, Cell& cell, OnRace&& on_race) {
    apply_unsampled_access<kKind>(self, Histories<Atomics::kMaybe>{cell, *this}, on_race);
  }

  // The access would change nothing.
  template <AccessKind kKind, ClockView View>
  [[nodiscard]] bool is_same_epoch(const View& self, Cell cell) {
    return repeats_epoch<kKind>(self, Histories<Atomics::kMaybe>{cell, *this});
  }

  Cell copy(const Cell& cell) {
    Cell twin = cell;
    twin.read_set = sets_.copy(cell.read_set);
    if (cell.atomics != 0) {
      twin.atomics = make_atomics();
      AtomicHistories& copied = atomics_[twin.atomics];
      copied = atomics_[cell.atomics];
      copied.write_set = sets_.copy(copied.write_set);
      copied.read_set = sets_.copy(copied.read_set);
    }
    return twin;
  }
  void release(Cell& cell) {
    sets_.release(std::exchange(cell.read_set, 0));
    release_atomics(cell);
  }
  // Sets could be compared too; they are rare and splitting them is harmless.
  [[nodiscard]] static bool interchangeable(const Cell& one, const Cell& other) {
    return one.write == other.write && one.read == other.read && one.read_set == 0 && other.read_set == 0 &&
           one.atomics == 0 && other.atomics == 0;
  }
  // The same, at the price of comparing sets.
  [[nodiscard]] bool has_same_history(const Cell& one, const Cell& other) {
    if (one.write != other.write || one.read != other.read || !sets_.are_equal(one.read_set, other.read_set)) {
      return false;
    }
    if (one.atomics == 0 || other.atomics == 0) return one.atomics == other.atomics;
    const AtomicHistories& left = atomics_[one.atomics];
    const AtomicHistories& right = atomics_[other.atomics];
    return left.write == right.write && left.read == right.read && sets_.are_equal(left.write_set, right.write_set) &&
           sets_.are_equal(left.read_set, right.read_set);
  }
  template <class Visit>
  void for_each_record(const Cell& cell, Visit&& visit) {
    visit(cell.write);
    visit(cell.read);
    if (cell.read_set != 0) sets_[cell.read_set].for_each(visit);
    if (cell.atomics == 0) return;
    const AtomicHistories& both = atomics_[cell.atomics];
    visit(both.write);
    visit(both.read);
    if (both.write_set != 0) sets_[both.write_set].for_each(visit);
    if (both.read_set != 0) sets_[both.read_set].for_each(visit);
  }
  [[nodiscard]] static Cell cell_after_free(const AccessRecord& record) { return Cell{record, {}, 0, 0}; }

  // No access is recorded.
  [[nodiscard]] static bool has_no_history(const Cell& cell) {
    return cell.write.epoch().is_empty() && cell.read.epoch().is_empty() && cell.read_set == 0 && cell.atomics == 0;
  }

 private:
  struct AtomicHistories {
    AccessRecord write;
    AccessRecord read;
    std::uint32_t write_set = 0;
    std::uint32_t read_set = 0;
  };

  // Plain writes: one record, never a set.
  class LastWrite {
   public:
    explicit LastWrite(AccessRecord& write) : write_(write) {}
    [[nodiscard]] bool is_empty() const { return write_.epoch().is_empty(); }
    [[nodiscard]] static bool is_shared() { return false; }
    [[nodiscard]] bool contains(Epoch epoch) const { return write_.epoch() == epoch; }
    template <ClockView View>
    [[nodiscard]] bool is_before(const View& view) const {
      return happened_before(write_.epoch(), view);
    }
    template <ClockView View, class Visit>
    void for_each_concurrent(const View& view, Visit&& visit) const {
      if (!is_before(view)) visit(write_);
    }
    void replace(const AccessRecord& record) { write_ = record; }
    void add(const AccessRecord& record) { write_ = record; }
    void clear() { write_ = AccessRecord{}; }

   private:
    AccessRecord& write_;
  };

  // Histories of atomic accesses: made at the first one, gone with the next
  // plain write.
  class AtomicHistory {
   public:
    AtomicHistory(Cell& cell, FastTrack& owner, AccessKind kind) : cell_(cell), owner_(owner), kind_(kind) {}
    [[nodiscard]] bool is_empty() const { return cell_.atomics == 0 || inner().is_empty(); }
    [[nodiscard]] bool is_shared() const { return cell_.atomics != 0 && inner().is_shared(); }
    [[nodiscard]] bool contains(Epoch epoch) const { return cell_.atomics != 0 && inner().contains(epoch); }
    template <ClockView View>
    [[nodiscard]] bool is_before(const View& view) const {
      return cell_.atomics == 0 || inner().is_before(view);
    }
    template <ClockView View, class Visit>
    void for_each_concurrent(const View& view, Visit&& visit) const {
      if (cell_.atomics != 0) inner().for_each_concurrent(view, visit);
    }
    void replace(const AccessRecord& record) {
      make();
      inner().replace(record);
    }
    void add(const AccessRecord& record) {
      make();
      inner().add(record);
    }
    void remove(ThreadSlot slot) {
      inner().remove(slot);
      if (owner_.is_empty(cell_.atomics)) owner_.release_atomics(cell_);
    }
    void clear() {
      if (cell_.atomics == 0) return;
      inner().clear();
      if (owner_.is_empty(cell_.atomics)) owner_.release_atomics(cell_);
    }

   private:
    [[nodiscard]] SingleOrSet inner() const {
      AtomicHistories& both = owner_.atomics_[cell_.atomics];
      return kind_ == AccessKind::kAtomicWrite ? SingleOrSet(both.write, both.write_set, owner_.sets_)
                                               : SingleOrSet(both.read, both.read_set, owner_.sets_);
    }
    void make() {
      if (cell_.atomics == 0) cell_.atomics = owner_.make_atomics();
    }

    Cell& cell_;
    FastTrack& owner_;
    AccessKind kind_;
  };

  // What there is of atomic accesses while a cell has had none.
  struct NoHistory {
    [[nodiscard]] static bool is_empty() { return true; }
    [[nodiscard]] static bool is_shared() { return false; }
    [[nodiscard]] static bool contains(Epoch /*epoch*/) { return false; }
    template <ClockView View>
    [[nodiscard]] static bool is_before(const View& /*view*/) {
      return true;
    }
    template <ClockView View, class Visit>
    static void for_each_concurrent(const View& /*view*/, Visit&& /*visit*/) {}
    static void clear() {}
  };

  enum class Atomics : std::uint8_t { kNone, kMaybe };

  template <Atomics kAtomics>
  struct Histories {
    Cell& cell;
    FastTrack& owner;

    template <AccessKind kHistory>
    auto history() {
      if constexpr (kHistory == AccessKind::kWrite) {
        return LastWrite(cell.write);
      } else if constexpr (kHistory == AccessKind::kRead) {
        return SingleOrSet(cell.read, cell.read_set, owner.sets_);
      } else if constexpr (kAtomics == Atomics::kNone) {
        return NoHistory{};
      } else {
        return AtomicHistory(cell, owner, kHistory);
      }
    }
  };

  [[nodiscard]] bool is_empty(std::uint32_t number) const {
    const AtomicHistories& both = atomics_[number];
    return both.write_set == 0 && both.read_set == 0 && both.write.epoch().is_empty() && both.read.epoch().is_empty();
  }
  std::uint32_t make_atomics() {
    if (atomics_.empty()) atomics_.emplace_back();
    if (free_atomics_.empty()) {
      atomics_.emplace_back();
      return static_cast<std::uint32_t>(atomics_.size() - 1);
    }
    const std::uint32_t number = free_atomics_.back();
    free_atomics_.pop_back();
    return number;
  }
  void release_atomics(Cell& cell) {
    if (cell.atomics == 0) return;
    AtomicHistories& both = atomics_[cell.atomics];
    sets_.release(both.write_set);
    sets_.release(both.read_set);
    both = AtomicHistories{};
    free_atomics_.push_back(std::exchange(cell.atomics, 0));
  }

  RecordSets sets_;
  std::vector<AtomicHistories> atomics_;  // index 0 is not used
  std::vector<std::uint32_t> free_atomics_;
};

}  // namespace deadheat
