// SPDX-License-Identifier: Apache-2.0
// PacerClocks: the family of clocks whose threads sample, each for itself (the
// argument is at the head of pacer.h).
//
//   copy       a release leaves the thread's clock at an object: deep while the
//              thread samples, because its clock advances right afterwards;
//              shared otherwise (Algorithm 9).
//   increment  only while the thread samples (Algorithm 10), and when it enters and
//              leaves a period.
//   join       nothing to do if the version of what is joined has been received
//              (Algorithm 11, rule 4 of Table 7); a comparison if not (rule 5); a
//              change only if that finds something new (rule 6).
//   join into  an object that accumulates releases (semaphores, RMWs): the copy of
//              one thread while that contains the others, then without a version
//              (Algorithm 16, rules 7 to 9).
//
// Outside sampling clocks settle, versions stop changing, and everything above is
// O(1). Which object does what is in sync_clock.h, the same for all families.
#pragma once

#include <cstdint>

#include "base/growable_array.h"
#include "core/epoch.h"
#include "core/shared_clock.h"
#include "core/version_epoch.h"
#include "model/event.h"
#include "model/identity.h"

namespace deadheat {

// The upper half of the paper's Table 3. A join is slow when it compares vectors.
struct ClockCounters {
  struct InPeriod {
    std::uint64_t slow_joins = 0;
    std::uint64_t fast_joins = 0;
    std::uint64_t deep_copies = 0;
    std::uint64_t shallow_copies = 0;
  };
  InPeriod sampling;
  InPeriod outside;
};

template <class Source = HeapSource>
class PacerSyncClock {
 public:
  using Vector = BasicVectorClock<Source>;

  [[nodiscard]] bool empty() const { return clock_.is_empty(); }
  [[nodiscard]] const Vector& clock() const { return clock_.value(); }
  [[nodiscard]] bool is_shared() const { return clock_.is_shared(); }
  // Null when several releases are in the clock that no thread had as a whole.
  [[nodiscard]] VersionEpoch source() const { return source_; }

  // Holds this value and nothing else, as one with its other holders or not.
  void share(const BasicSharedClock<Source>& clock, VersionEpoch source) {
    clock_ = clock;
    source_ = source;
  }
  void copy(const Vector& clock, VersionEpoch source) {
    clock_.assign(clock);
    source_ = source;
  }

  // Adds a release that does not contain the others.
  void add(const Vector& clock) {
    clock_.own().join(clock);
    source_ = VersionEpoch{};
  }

  // Adds a release that another object already holds.
  void release(const PacerSyncClock& other) {
    if (other.empty()) return;
    if (is_contained_in(other)) return share(other.clock_, other.source_);
    add(other.clock());
  }

  void clear() {
    clock_.reset();
    source_ = VersionEpoch{};
  }

 private:
  [[nodiscard]] bool is_contained_in(const PacerSyncClock& other) const {
    if (empty() || clock_.is_same_as(other.clock_)) return true;
    const bool are_of_one_thread = !source_.is_null() && !other.source_.is_null() && source_.slot == other.source_.slot;
    if (are_of_one_thread && source_.version <= other.source_.version) return true;
    return clock().is_before(other.clock());
  }

  BasicSharedClock<Source> clock_;
  VersionEpoch source_;
};

template <class Source = HeapSource>
class PacerThreadClock {
 public:
  using Vector = BasicVectorClock<Source>;
  using Sync = PacerSyncClock<Source>;

  // What the clocks of an execution have in common. Where threads run at the same
  // time, each has its own, and takes versions that rise with the users of a slot.
  struct Common {
    ClockCounters counters;
    Version newest_version = 0;
    bool has_versions = true;  // without, clocks are compared each time
  };

  // A thread that starts knowing what `parent` knows, or nothing, and continues
  // `slot`: the parent knows the clock of its last thread.
  PacerThreadClock(Common& common, ThreadId id, ThreadSlot slot, const PacerThreadClock* parent)
      : PacerThreadClock(common, id, slot, parent == nullptr ? Vector{} : parent->seen(), parent) {}
  // The same for one that starts with `inherited`, which contains what the parent knows.
  PacerThreadClock(Common& common, ThreadId id, ThreadSlot slot, const Vector& inherited,
                   const PacerThreadClock* parent)
      : common_(&common), id_(id) {
    seen_.assign(inherited);
    if (parent != nullptr) {
      count(&ClockCounters::InPeriod::deep_copies);
      versions_ = parent->versions_;
      versions_.raise(parent->version_epoch());
    }
    now_ = Epoch(slot, seen_.value().clock_of(slot));
    tick();
  }

  [[nodiscard]] ThreadId id() const { return id_; }
  [[nodiscard]] Epoch epoch() const { return now_; }
  [[nodiscard]] Clock clock_of(ThreadSlot slot) const { return seen_.value().clock_of(slot); }
  [[nodiscard]] const Vector& seen() const { return seen_.value(); }
  [[nodiscard]] bool is_sampling() const { return is_sampling_; }
  [[nodiscard]] VersionEpoch version_epoch() const { return {now_.slot(), version_}; }
  // The latest version of the slot's thread that is known to be contained in this.
  [[nodiscard]] Version version_of(ThreadSlot slot) const {
    return slot == now_.slot() ? version_ : versions_.of(slot);
  }

  // A thread that was just made and samples from its first access on, whose epoch
  // nobody else knows.
  void begin_sampling() { is_sampling_ = true; }
  // Both begin a new epoch, which nobody else knows.
  void enter_sampling() {
    if (is_sampling_) return;
    tick();
    is_sampling_ = true;
  }
  void leave_sampling() {
    if (!is_sampling_) return;
    tick();
    is_sampling_ = false;
  }

  void acquire(const Sync& from) {
    if (!from.empty()) join(from.clock(), from.source());
  }
  void acquire(const PacerThreadClock& other) { join(other.seen_.value(), other.version_epoch()); }

  // Whether an acquire would teach it nothing. Remembers the answer.
  [[nodiscard]] bool knows(const Sync& from) {
    return from.empty() || has_received(from.source()) || contains(from.clock(), from.source());
  }

  void release(Sync& to) {
    if (!is_sampling_ && is_known_to(to)) return count(&ClockCounters::InPeriod::shallow_copies);
    if (knows(to)) {
      copy_to(to);
    } else {
      to.add(seen_.value());
    }
    advance();
  }
  void copy_to(Sync& to) const {
    // The very value is there.
    if (!to.source().is_null() && to.source() == version_epoch()) {
      return count(&ClockCounters::InPeriod::shallow_copies);
    }
    if (is_sampling_) {
      to.copy(seen_.value(), version_epoch());
      count(&ClockCounters::InPeriod::deep_copies);
    } else {
      to.share(seen_, version_epoch());
      count(&ClockCounters::InPeriod::shallow_copies);
    }
  }
  void advance() {
    if (is_sampling_) tick();
  }

  // Goes on in another slot, after the clock `base` of it and all that is known of
  // it. Nobody else uses the slot; versions go on from `version`, which is larger
  // than all that the slot had; 0: without versions.
  void move_to(ThreadSlot slot, Clock base, Version version) {
    versions_.raise(version_epoch());
    common_->newest_version = version;
    common_->has_versions = version != 0;
    const Clock known = seen_.value().clock_of(slot);
    now_ = Epoch(slot, known < base ? base : known);
    tick();
  }

  // As in sync_clock.h.
  void fence(MemoryOrder order) {
    if (acquires(order)) acquire(pending_acquire_);
    if (releases(order)) {
      copy_to(release_fence_);
      advance();
    }
  }
  [[nodiscard]] const Sync& release_fence() const { return release_fence_; }
  void remember_for_acquire_fence(const Sync& from) {
    if (!knows(from)) pending_acquire_.release(from);
  }

  // The thread will do nothing more. Outside sampling others may know its epoch and
  // not what it learnt since; its last epoch is new, so that only who joins the
  // thread, or learns of that, knows it: who continues the slot then has all of
  // this clock, and versions of the slot go on rising with their contents.
  void finish() {
    if (is_finished_) return;
    tick();
    is_finished_ = true;
  }

  // Gives the memory of an ended thread back; only id() and epoch() remain.
  void reset() {
    seen_.reset();
    versions_.reset();
    release_fence_.clear();
    pending_acquire_.clear();
  }

 private:
  void tick() {
    now_ = Epoch(now_.slot(), now_.clock() + 1);
    changeable().set(now_.slot(), now_.clock());
  }

  // The thread's clock takes a new value.
  Vector& changeable() {
    if (seen_.is_shared()) count(&ClockCounters::InPeriod::deep_copies);
    version_ = common_->has_versions ? ++common_->newest_version : 0;
    return seen_.own();
  }

  void join(const Vector& clock, VersionEpoch source) {
    if (has_received(source)) return count(&ClockCounters::InPeriod::fast_joins);
    if (is_sampling_) {
      // There is news as a rule, and a new version costs nothing: the next release
      // makes one anyway.
      count(&ClockCounters::InPeriod::slow_joins);
    } else if (contains(clock, source)) {
      return;
    }
    changeable().join(clock);
    versions_.raise(source);
  }
  [[nodiscard]] bool has_received(VersionEpoch source) const {
    return !source.is_null() && source.version <= version_of(source.slot);
  }
  [[nodiscard]] bool contains(const Vector& clock, VersionEpoch source) {
    count(&ClockCounters::InPeriod::slow_joins);
    if (!clock.is_before(seen_.value())) return false;
    versions_.raise(source);
    return true;
  }

  // Whether the object holds all of this clock. Threads that take turns at a lock come
  // to know the same, and then have nothing to leave there: the answers of last time
  // are remembered.
  [[nodiscard]] bool is_known_to(const Sync& object) {
    const VersionEpoch source = object.source();
    if (source.is_null() || version_ == 0) return false;
    if (source == version_epoch()) return true;
    Answer& answer = answers_[raw(source.slot) % kAnswers];
    if (answer.asked != source || answer.version != version_) {
      answer = {source, version_, seen_.value().is_before(object.clock())};
    }
    return answer.is_known;
  }

  void count(std::uint64_t ClockCounters::InPeriod::* counter) const {
    ClockCounters::InPeriod& period = is_sampling_ ? common_->counters.sampling : common_->counters.outside;
    ++(period.*counter);
  }

  // Is the clock that has this version contained in what the other version names?
  struct Answer {
    VersionEpoch asked;
    Version version = 0;
    bool is_known = false;
  };
  static constexpr std::uint32_t kAnswers = 4;

  Common* common_;
  BasicSharedClock<Source> seen_;
  Epoch now_;
  Version version_ = 0;
  BasicVersionVector<Source> versions_;  // of the other slots
  ThreadId id_;
  bool is_sampling_ = false;
  bool is_finished_ = false;
  Sync release_fence_;
  Sync pending_acquire_;
  Answer answers_[kAnswers];
};

template <class Source = HeapSource>
struct PacerClocks {
  using Sync = PacerSyncClock<Source>;
  using Thread = PacerThreadClock<Source>;
  template <class T>
  using Array = GrowableArray<T, Source>;

  using Common = typename Thread::Common;
  static Thread root(Common& common, ThreadId id, ThreadSlot slot) { return {common, id, slot, nullptr}; }
  static Thread child(Common& common, ThreadId id, ThreadSlot slot, const Thread& parent) {
    return {common, id, slot, &parent};
  }
};

}  // namespace deadheat
