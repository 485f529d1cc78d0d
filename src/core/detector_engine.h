// SPDX-License-Identifier: Apache-2.0
// DetectorEngine: an offline detector made of a happens-before engine, a byte
// shadow, and a Policy that says what a cell is and how accesses change it.
//
//   FastTrack   DetectorEngine<FastTrack>
//   Djit+       DetectorEngine<Djit>
//
// Besides what ByteShadow asks for, a Policy has
//   template <AccessKind> RuleStep apply(const ThreadClock&, Cell&, const AccessRecord&, OnRace)
// with the contract of apply_access in access_rules.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/paged_table.h"
#include "core/access_rules.h"
#include "core/byte_shadow.h"
#include "core/detector.h"
#include "core/happens_before.h"
#include "core/ignore_state.h"
#include "core/race_collector.h"
#include "core/rule_counters.h"
#include "core/situation.h"

namespace deadheat {

template <CellPolicy Policy>
class DetectorEngine final : public Detector {
 public:
  explicit DetectorEngine(const DetectorOptions& options)
      : order_(options.release_sequences), shadow_(policy_), collector_(situations_) {}

  void process(std::span<const Event> events) override {
    if (situations_.wants_collection()) collect_situations();
    // The shadow misses the cache in large traces; asking for it some events
    // ahead hides most of that.
    constexpr std::size_t kPageAhead = 12;
    constexpr std::size_t kWordAhead = 6;
    for (std::size_t at = 0; at < events.size(); ++at) {
      if (at + kPageAhead < events.size()) {
        const Event& far = events[at + kPageAhead];
        const Event& near = events[at + kWordAhead];
        if (is_access(far)) shadow_.prefetch_page(far.address());
        if (is_access(near)) shadow_.prefetch_word(near.address());
      }
      step(events[at]);
      ++event_index_;
    }
  }

  [[nodiscard]] const std::vector<Finding>& findings() const override { return collector_.findings(); }
  [[nodiscard]] std::vector<Range> racy_bytes() const override { return collector_.racy_bytes(); }
  [[nodiscard]] std::vector<Counter> counters() const override {
    std::vector<Counter> result = rules_.list();
    result.push_back({"shadow pages", shadow_.pages()});
    result.push_back({"shadow splits", shadow_.splits()});
    result.push_back({"clock slots", order_.slots()});
    result.push_back({"situations lost", situations_.lost()});
    return result;
  }

 private:
  // What the engine keeps per thread besides its clock.
  struct ThreadState {
    ThreadClock* clock = nullptr;
    Trail trail;
    IgnoreState ignore;
  };

  static bool is_access(const Event& event) { return raw(event.kind) <= raw(EventKind::kAtomicRmw); }

  void collect_situations() {
    situations_.collect(
        [&](auto&& visit) { shadow_.for_each_record([&](const AccessRecord& record) { visit(record.situation()); }); },
        [&](auto&& visit) { threads_.for_each([&](ThreadState& thread) { visit(thread.trail); }); });
  }

  void step(const Event& event) {
    ThreadState& self = thread(event.thread);
    switch (event.kind) {
      case EventKind::kRead:
        return access<AccessKind::kRead>(self, event);
      case EventKind::kWrite:
        return access<AccessKind::kWrite>(self, event);
      case EventKind::kAtomicLoad:
      case EventKind::kAtomicStore:
      case EventKind::kAtomicRmw:
        return atomic(self, event);
      case EventKind::kFree:
        return free(self, event);
      case EventKind::kAlloc:
      case EventKind::kBenignRange:
        return mark_range(event);
      case EventKind::kFunctionEnter:
        return situations_.enter(self.trail, event.site);
      case EventKind::kFunctionExit:
        return situations_.leave(self.trail);
      case EventKind::kIgnoreBegin:
        return self.ignore.begin(event.ignored());
      case EventKind::kIgnoreEnd:
        return self.ignore.end(event.ignored());
      default:
        return synchronise(self, event);
    }
  }

  ThreadState& thread(ThreadId id) {
    ThreadState& state = threads_[raw(id)];
    if (state.clock == nullptr) [[unlikely]]
      state.clock = &order_.thread(id);
    return state;
  }

  template <AccessKind kKind>
  void access(ThreadState& self, const Event& event) {
    if (self.ignore.ignores(kKind)) [[unlikely]]
      return;
    const AccessRecord now(self.clock->epoch(), event.site, situations_.of(self.trail), event.size(),
                           WriteFlavour::kStore);
    shadow_.access(event.address(), event.size(), [&](typename Policy::Cell& cell, const Touched& touched) {
      check<kKind>(self, cell, now, touched, event);
    });
  }

  void atomic(ThreadState& self, const Event& event) {
    const bool synchronises = !self.ignore.ignores_sync();
    if (event.kind != EventKind::kAtomicStore && synchronises) order_.atomic_acquire(*self.clock, event);
    if (event.kind == EventKind::kAtomicLoad) return access<AccessKind::kAtomicRead>(self, event);
    access<AccessKind::kAtomicWrite>(self, event);
    if (synchronises) order_.atomic_release(*self.clock, event);
  }

  void free(ThreadState& self, const Event& event) {
    if (event.size() == 0 || self.ignore.ignores(AccessKind::kFree)) return;
    const AccessRecord now(self.clock->epoch(), event.site, situations_.of(self.trail), event.size(),
                           WriteFlavour::kFree);
    shadow_.free(event.address(), event.size(), now, [&](typename Policy::Cell& cell, const Touched& touched) {
      check<AccessKind::kFree>(self, cell, now, touched, event);
    });
  }

  void mark_range(const Event& event) {
    if (event.size() == 0) return;
    if (event.kind == EventKind::kBenignRange) return collector_.mark_benign(event.address(), event.size());
    shadow_.forget(event.address(), event.size());
    order_.forget_atomics(event.address(), event.size());
    collector_.forget_benign(event.address(), event.size());
  }

  void synchronise(ThreadState& self, const Event& event) {
    switch (event.kind) {
      case EventKind::kLockAcquire:
        if (event.is_outermost()) situations_.acquire(self.trail, event.sync(), event.lock_mode());
        break;
      case EventKind::kLockRelease:
        if (event.is_outermost()) situations_.release(self.trail, event.sync(), event.lock_mode());
        break;
      case EventKind::kCondWaitBegin:
        situations_.release(self.trail, event.mutex(), LockMode::kExclusive);
        break;
      case EventKind::kCondWaitEnd:
        situations_.acquire(self.trail, event.mutex(), LockMode::kExclusive);
        break;
      case EventKind::kThreadExit:
        release_held_locks(self, event);
        break;
      default:
        break;
    }
    if (!self.ignore.ignores_sync() || is_thread_event(event.kind)) order_.apply(*self.clock, event);
  }

  void release_held_locks(ThreadState& self, const Event& exit) {
    for (const HeldLock& held : situations_.locks(situations_.of(self.trail))) {
      synchronise(self, events::at(events::release(exit.thread, held.lock, held.mode), exit.site));
    }
  }

  template <AccessKind kKind>
  void check(const ThreadState& self, typename Policy::Cell& cell, const AccessRecord& now, const Touched& touched,
             const Event& event) {
    const RuleStep step =
        policy_.template apply<kKind>(*self.clock, cell, now, [&]<AccessKind kHistory>(const auto& history) {
          history.for_each_concurrent(*self.clock, [&](const AccessRecord& earlier) {
            report(kHistory, earlier, RawAccess{kKind, self.clock->id(), now}, touched, event);
          });
        });
    rules_.count(history_of(kKind), step);
  }

  [[gnu::noinline]] void report(AccessKind history, const AccessRecord& earlier, const RawAccess& later,
                                const Touched& touched, const Event& event) {
    const AccessKind kind = earlier.flavour() == WriteFlavour::kFree ? AccessKind::kFree : history;
    collector_.add(RawAccess{kind, order_.owner(earlier.epoch()), earlier}, later, event.size(), touched, event_index_);
  }

  Policy policy_;
  HappensBefore order_;
  ByteShadow<Policy> shadow_;
  SituationTable situations_;
  RaceCollector collector_;
  RuleCounters rules_;
  PagedTable<ThreadState> threads_;  // by ThreadId
  std::uint64_t event_index_ = 0;
};

}  // namespace deadheat
