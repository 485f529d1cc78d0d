// SPDX-License-Identifier: Apache-2.0
// RecycledSlots: a model of runtime/slots.h with limits so small that short
// traces use slots up, continue and sweep them.
//
// The runtime has 8190 slots of 2^19 clocks, which no test uses up at random.
// Here there are a few slots of a few clocks; the decisions (who may continue a
// slot, when a sweep may remove its entries, where the base moves to, when a
// thread changes its slot) are those of slots.cpp and thread_registry.cpp. When
// neither way yields a slot, the oldest is swept by force and lost() counts it:
// from then on the detector may miss races.
//
// Order is made by locks, semaphores, annotations and thread events only: enough
// to hand knowledge around, and small enough to be a second, independent engine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "core/cell_entry.h"
#include "core/happens_before.h"
#include "core/sync_clock.h"

namespace deadheat {

struct SlotLimits {
  std::uint32_t slots = 8;  // number 0 is never used
  std::uint32_t max_clock = 7;
  std::uint32_t first_sweep = 4;
};

class RecycledSlots {
 public:
  using Thread = ThreadClock;
  explicit RecycledSlots(const SlotLimits& limits)
      : limits_(limits), base_(limits.slots), known_(limits.slots), tenures_(limits.slots) {}

  RecycledSlots& order() { return *this; }
  [[nodiscard]] ShortEpoch short_epoch(Epoch epoch) const {
    const Clock used = epoch.clock() - base_[raw(epoch.slot())];
    if (used == 0 || used > limits_.max_clock) is_out_of_range_ = true;
    return ShortEpoch(epoch.slot(), static_cast<std::uint32_t>(used));
  }
  [[nodiscard]] Clock full_clock(ShortEpoch epoch) const { return base_[raw(epoch.slot())] + epoch.clock(); }
  [[nodiscard]] static ThreadSlot in_clocks(ThreadSlot slot) { return slot; }
  [[nodiscard]] Clock known_to_all(ThreadSlot slot) const { return known_[raw(slot)]; }
  [[nodiscard]] ThreadId owner(ShortEpoch epoch) const {
    ThreadId owner{};
    for (const Tenure& tenure : tenures_[raw(epoch.slot())]) {
      if (tenure.first <= full_clock(epoch)) owner = tenure.thread;
    }
    return owner;
  }
  [[nodiscard]] std::uint64_t sweeps() const { return sweeps_; }
  [[nodiscard]] std::uint64_t continued() const { return continued_; }
  [[nodiscard]] std::uint64_t moves() const { return moves_; }
  [[nodiscard]] std::uint64_t lost() const { return lost_; }
  // A thread had an epoch that the short form cannot tell.
  [[nodiscard]] bool is_out_of_range() const { return is_out_of_range_; }

  ThreadClock& thread(ThreadId id) {
    const auto found = threads_.find(id);
    return found != threads_.end() ? *found->second : start(id, VectorClock{});
  }

  void apply(ThreadClock& self, const Event& event) {
    switch (event.kind) {
      case EventKind::kLockAcquire:
        if (event.is_outermost()) locks_[event.sync()].acquire(self, event.lock_mode());
        return;
      case EventKind::kLockRelease:
        if (event.is_outermost()) locks_[event.sync()].release(self, event.lock_mode());
        return use_up(self);
      case EventKind::kSemaphorePost:
        self.release(semaphores_[event.sync()]);
        return use_up(self);
      case EventKind::kSemaphoreWait:
        return self.acquire(semaphores_[event.sync()]);
      case EventKind::kHappensBefore:
        self.release(tags_[event.object]);
        return use_up(self);
      case EventKind::kHappensAfter:
        return self.acquire(tags_[event.object]);
      case EventKind::kFork:
        start(event.other_thread(), self.seen());
        self.advance();
        return use_up(self);
      case EventKind::kJoin:
        self.acquire(thread(event.other_thread()).seen());
        return remove(event.other_thread());
      case EventKind::kDetach:
        detached_.insert(event.other_thread());
        return remove_if_done(event.other_thread());
      case EventKind::kThreadExit:
        finished_.insert(self.id());
        return remove_if_done(self.id());
      default:
        return;
    }
  }
  // Not part of the model; the traces have none.
  void atomic_acquire(ThreadClock&, const Event&) {}
  void atomic_release(ThreadClock&, const Event&) {}
  void forget_atomics(Address, std::uint64_t) {}

  void refresh_known_to_all(const std::vector<const ThreadClock*>& living) {
    if (living.empty()) return;
    all_roots_are_here_ = true;
    refresh();
  }

  // Removes the entries that a sweep has marked since. The bases have moved
  // already, so nothing may look at an entry in between; nothing does, because
  // one event takes one slot at most before it touches memory.
  template <class ForEachEntry>
  void recycle(ForEachEntry&& for_each_entry) {
    if (swept_.empty()) return;
    for_each_entry([&](CellEntry& entry) {
      if (!entry.is_empty() && swept_.contains(entry.slot())) entry = CellEntry{};
    });
    swept_.clear();
  }

 private:
  struct Tenure {
    Clock first = 0;
    ThreadId thread{};
  };
  struct Retired {
    ThreadSlot slot{};
    Clock last = 0;
  };

  ThreadClock& start(ThreadId id, VectorClock inherited) {
    const ThreadSlot slot = take_slot(inherited, id);
    if (inherited.clock_of(slot) < base_[raw(slot)]) inherited.set(slot, base_[raw(slot)]);
    return *(threads_[id] = std::make_unique<ThreadClock>(id, slot, inherited));
  }

  // The thread has released; see advance() of the runtime.
  void use_up(ThreadClock& self) {
    const Epoch now = self.epoch();
    if (now.clock() - base_[raw(now.slot())] + 1 <= limits_.max_clock) return;
    const ThreadSlot fresh = take_slot(self.seen(), self.id());
    self.move_to(fresh, base_[raw(fresh)]);
    retired_.push_back(Retired{now.slot(), now.clock()});
    ++moves_;
  }

  void remove_if_done(ThreadId id) {
    if (finished_.contains(id) && detached_.contains(id)) remove(id);
  }
  void remove(ThreadId id) {
    const auto found = threads_.find(id);
    if (found == threads_.end() || !gone_.insert(id).second) return;
    retired_.push_back(Retired{found->second->epoch().slot(), found->second->epoch().clock()});
  }

  ThreadSlot take_slot(const VectorClock& inherited, ThreadId thread) {
    ThreadSlot slot{};
    bool found = continue_slot(inherited, slot);
    if (!found && next_slot_ >= sweep_at_ && retired_.size() > next_slot_ / 2) {
      sweep_what_all_know();
      found = continue_slot(inherited, slot);
      const auto used = next_slot_ - static_cast<std::uint32_t>(retired_.size());
      sweep_at_ = std::max(used * 2, limits_.first_sweep);
    }
    if (!found && next_slot_ < limits_.slots) {
      slot = ThreadSlot{next_slot_++};
      found = true;
    }
    if (!found) {
      if (!sweep_what_all_know()) sweep_oldest_by_force();
      found = continue_slot(inherited, slot);
    }
    if (!found) {
      slot = ThreadSlot{1 + raw(thread) % (limits_.slots - 1)};
      ++lost_;
    }
    const Clock first = std::max(inherited.clock_of(slot), base_[raw(slot)]) + 1;
    tenures_[raw(slot)].push_back(Tenure{first, thread});
    return slot;
  }

  bool continue_slot(const VectorClock& inherited, ThreadSlot& found) {
    for (std::size_t index = retired_.size(); index-- > 0;) {
      const Retired candidate = retired_[index];
      const Clock used = candidate.last - base_[raw(candidate.slot)];
      if (used > limits_.max_clock / 2) continue;
      if (used != 0 && candidate.last > inherited.clock_of(candidate.slot)) continue;
      retired_.erase(retired_.begin() + static_cast<std::ptrdiff_t>(index));
      found = candidate.slot;
      ++continued_;
      return true;
    }
    return false;
  }

  void refresh() {
    if (!all_roots_are_here_) return;
    for (std::uint32_t slot = 1; slot < next_slot_; ++slot) {
      Clock least = Epoch::kMaxClock;
      for (const auto& [id, thread] : threads_) {
        if (finished_.contains(id) || gone_.contains(id)) continue;
        least = std::min(least, thread->clock_of(ThreadSlot{slot}));
      }
      if (least != Epoch::kMaxClock) known_[slot] = std::max(known_[slot], least);
    }
  }

  bool sweep_what_all_know() {
    refresh();
    bool any = false;
    for (const Retired& candidate : retired_) {
      const bool is_fresh = base_[raw(candidate.slot)] == candidate.last;
      if (is_fresh || candidate.last > known_[raw(candidate.slot)]) continue;
      sweep(candidate);
      any = true;
    }
    return any;
  }
  void sweep_oldest_by_force() {
    ++lost_;
    if (retired_.empty()) return;
    sweep(retired_[0]);
    known_[raw(retired_[0].slot)] = retired_[0].last;
  }
  void sweep(const Retired& candidate) {
    swept_.insert(candidate.slot);
    base_[raw(candidate.slot)] = candidate.last;
    tenures_[raw(candidate.slot)].clear();
    ++sweeps_;
  }

  SlotLimits limits_;
  std::vector<Clock> base_;  // by slot, as the next two
  std::vector<Clock> known_;
  std::vector<std::vector<Tenure>> tenures_;
  std::vector<Retired> retired_;
  std::uint32_t next_slot_ = 1;
  std::uint32_t sweep_at_ = 4;
  std::set<ThreadSlot> swept_;
  bool all_roots_are_here_ = false;

  std::map<ThreadId, std::unique_ptr<ThreadClock>> threads_;
  std::set<ThreadId> finished_;
  std::set<ThreadId> detached_;
  std::set<ThreadId> gone_;
  std::map<SyncId, LockClock> locks_;
  std::map<SyncId, SyncClock> semaphores_;
  std::map<std::uint64_t, SyncClock> tags_;

  mutable bool is_out_of_range_ = false;
  std::uint64_t sweeps_ = 0;
  std::uint64_t continued_ = 0;
  std::uint64_t moves_ = 0;
  std::uint64_t lost_ = 0;
};

}  // namespace deadheat
