// SPDX-License-Identifier: Apache-2.0
// DetectorEngine: an offline detector made of a happens-before engine, a shadow
// that finds the cells of an access, and a Policy that says what a cell is and how
// accesses change it.
//
//   FastTrack   DetectorEngine<FastTrack>
//   Djit+       DetectorEngine<Djit>
//   SlimState   DetectorEngine<SlimCells, SlimShadow<SlimCells>>
//   PACER       DetectorEngine<FastTrack, ByteShadow<FastTrack>, PacerSampling>
//
// Besides what ByteShadow asks for, a Policy has
//   template <AccessKind> RuleStep apply(const ThreadClock&, Cell&, const AccessRecord&, OnRace)
// with the contract of apply_access in access_rules.h.
//
// A shadow may defer accesses (one that has Footprints, slim_state.h). Then what a
// thread has pending is committed before its clock changes in any way: before it
// learns of others, before others learn of it.
//
// A Sampling says which happens-before engine there is and, if threads sample only
// at times (one that has kAtTimes), when. An access outside goes to
//   template <AccessKind> void apply_unsampled(const ThreadClock&, Cell&, OnRace)
// of the Policy, for the cells that exist.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/paged_table.h"
#include "core/access_rules.h"
#include "core/byte_shadow.h"
#include "core/detector.h"
#include "core/happens_before.h"
#include "core/ignore_state.h"
#include "core/pending_footprints.h"
#include "core/race_collector.h"
#include "core/rule_counters.h"
#include "core/situation.h"

namespace deadheat {

// Every access is recorded.
struct FullSampling {
  using Order = HappensBefore;
  static constexpr bool kAtTimes = false;
  explicit FullSampling(const DetectorOptions& /*options*/) {}
};

// What a thread has pending in a shadow.
template <class Shadow>
struct FootprintsIn {
  struct Type {};
};
template <class Shadow>
  requires requires { typename Shadow::Footprints; }
struct FootprintsIn<Shadow> {
  using Type = typename Shadow::Footprints;
};

template <CellPolicy Policy, class Shadow = ByteShadow<Policy>, class Sampling = FullSampling>
class DetectorEngine final : public Detector {
 public:
  explicit DetectorEngine(const DetectorOptions& options)
      : order_(options.release_sequences), sampling_(options), shadow_(policy_), collector_(situations_) {}

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

  void finish() override { commit_all(); }

  [[nodiscard]] const std::vector<Finding>& findings() const override { return collector_.findings(); }
  [[nodiscard]] std::vector<Range> racy_bytes() const override { return collector_.racy_bytes(); }
  [[nodiscard]] std::vector<Counter> counters() const override {
    std::vector<Counter> result = rules_.list();
    result.push_back({"shadow pages", shadow_.pages()});
    result.push_back({"shadow splits", shadow_.splits()});
    result.push_back({"clock slots", order_.slots()});
    result.push_back({"situations lost", situations_.lost()});
    if constexpr (kDefers) {
      for (const Counter& counter : shadow_.counters()) result.push_back(counter);
    }
    if constexpr (kSamplesAtTimes) {
      for (const Counter& counter : sampling_.counters(order_)) result.push_back(counter);
    }
    return result;
  }
  [[nodiscard]] std::optional<SampledShare> sampled_share() const override {
    if constexpr (kSamplesAtTimes) return sampling_.share();
    return std::nullopt;
  }

 private:
  using Cell = typename Policy::Cell;
  using Order = typename Sampling::Order;
  using Clocks = typename Order::Thread;
  using Observed = BasicObservedAccess<Clocks>;
  static constexpr bool kDefers = requires { typename Shadow::Footprints; };
  static constexpr bool kSamplesAtTimes = Sampling::kAtTimes;
  static_assert(!(kDefers && kSamplesAtTimes));

  // What the engine keeps per thread besides its clock.
  struct ThreadState {
    Clocks* clock = nullptr;
    Trail trail;
    IgnoreState ignore;
    [[no_unique_address]] typename FootprintsIn<Shadow>::Type footprints;
  };

  static bool is_access(const Event& event) { return raw(event.kind) <= raw(EventKind::kAtomicRmw); }

  void collect_situations() {
    commit_all();
    situations_.collect(
        [&](auto&& visit) { shadow_.for_each_record([&](const AccessRecord& record) { visit(record.situation()); }); },
        [&](auto&& visit) { threads_.for_each([&](ThreadState& thread) { visit(thread.trail); }); });
  }

  void step(const Event& event) {
    ThreadState& self = thread(event.thread);
    if constexpr (kSamplesAtTimes) sampling_.follow(*self.clock, event.kind);
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
      case EventKind::kSamplingBegin:
      case EventKind::kSamplingEnd:
        return;
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

  Observed observe(ThreadState& self, const Event& event, WriteFlavour flavour) {
    const AccessRecord record(self.clock->epoch(), event.site, situations_.of(self.trail), event.size(), flavour);
    return {self.clock, record, event.size(), event_index_};
  }

  template <AccessKind kKind>
  void access(ThreadState& self, const Event& event) {
    if (self.ignore.ignores(kKind)) [[unlikely]]
      return;
    if constexpr (kSamplesAtTimes) {
      if (!sampling_.takes(*self.clock, kKind)) return access_unsampled<kKind>(self, event, WriteFlavour::kStore);
    }
    const Observed now = observe(self, event, WriteFlavour::kStore);
    if constexpr (kDefers) {
      shadow_.template access<kKind>(self.footprints, now, event.address(), checker());
    } else {
      shadow_.access(event.address(), event.size(),
                     [&](Cell& cell, const Touched& touched) { check<kKind>(now, cell, touched); });
    }
  }

  // Most memory has no cells then, and nothing happens.
  template <AccessKind kKind>
  void access_unsampled(ThreadState& self, const Event& event, WriteFlavour flavour) {
    bool has_history = false;
    shadow_.revisit(event.address(), event.size(), [&](Cell& cell, const Touched& touched) {
      has_history = true;
      const Observed now = observe(self, event, flavour);
      policy_.template apply_unsampled<kKind>(*now.clock, cell, reporter<kKind>(now, touched));
    });
    if (has_history) sampling_.count_slow(kKind);
  }

  void atomic(ThreadState& self, const Event& event) {
    const bool synchronises = !self.ignore.ignores_sync();
    if (event.kind != EventKind::kAtomicStore && synchronises) {
      // A relaxed load changes nothing before the fence that makes use of it.
      if (acquires(event.order())) commit(self);
      order_.atomic_acquire(*self.clock, event);
    }
    if (event.kind == EventKind::kAtomicLoad) return access<AccessKind::kAtomicRead>(self, event);
    access<AccessKind::kAtomicWrite>(self, event);
    if (!synchronises) return;
    // A relaxed store publishes at most what was before a fence, and committed.
    if (releases(event.order())) commit(self);
    order_.atomic_release(*self.clock, event);
  }

  void free(ThreadState& self, const Event& event) {
    if (event.size() == 0 || self.ignore.ignores(AccessKind::kFree)) return;
    if constexpr (kSamplesAtTimes) {
      if (!sampling_.takes(*self.clock, AccessKind::kFree)) {
        return access_unsampled<AccessKind::kFree>(self, event, WriteFlavour::kFree);
      }
    }
    const Observed now = observe(self, event, WriteFlavour::kFree);
    if constexpr (kDefers) {
      shadow_.free(event.address(), now, checker());
    } else {
      shadow_.free(event.address(), event.size(), now.record,
                   [&](Cell& cell, const Touched& touched) { check<AccessKind::kFree>(now, cell, touched); });
    }
  }

  void mark_range(const Event& event) {
    if (event.size() == 0) return;
    if (event.kind == EventKind::kBenignRange) {
      if constexpr (kDefers) shadow_.settle(event.address(), event.size(), checker());
      return collector_.mark_benign(event.address(), event.size());
    }
    if constexpr (kDefers) {
      shadow_.forget(event.address(), event.size(), checker());
    } else {
      shadow_.forget(event.address(), event.size());
    }
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
    if (self.ignore.ignores_sync() && !is_thread_event(event.kind)) return;
    commit_before(self, event);
    order_.apply(*self.clock, event);
  }

  void commit_before(ThreadState& self, const Event& event) {
    if constexpr (kDefers) {
      if (!moves_clocks(event)) return;
      commit(self);
      // These also touch the clock of the other thread.
      if (info(event.kind).object == ObjectMeaning::kThread) commit(threads_[raw(event.other_thread())]);
    }
  }
  static bool moves_clocks(const Event& event) {
    switch (event.kind) {
      case EventKind::kLockAcquire:
      case EventKind::kLockRelease:
        return event.is_outermost();
      case EventKind::kLockTryFailed:
      case EventKind::kCondSignal:
      case EventKind::kCondBroadcast:
      case EventKind::kSyncDestroy:
        return false;
      default:
        return true;
    }
  }

  void commit(ThreadState& thread) {
    if constexpr (kDefers) shadow_.commit(thread.footprints, checker());
  }
  void commit_all() {
    if constexpr (kDefers) threads_.for_each([&](ThreadState& thread) { commit(thread); });
  }

  void release_held_locks(ThreadState& self, const Event& exit) {
    for (const HeldLock& held : situations_.locks(situations_.of(self.trail))) {
      synchronise(self, events::at(events::release(exit.thread, held.lock, held.mode), exit.site));
    }
  }

  // The check as a deferring shadow calls it.
  auto checker() {
    return [this]<AccessKind kKind>(const Observed& now, Cell& cell, const auto& where) {
      this->template check<kKind>(now, cell, where);
    };
  }

  // `where` is Touched or TouchedElements.
  template <AccessKind kKind, class Where>
  void check(const Observed& now, Cell& cell, const Where& where) {
    const RuleStep step = policy_.template apply<kKind>(*now.clock, cell, now.record, reporter<kKind>(now, where));
    rules_.count(history_of(kKind), step);
  }

  // Reports what of a history the access races with.
  template <AccessKind kKind, class Where>
  auto reporter(const Observed& now, const Where& where) {
    return [&]<AccessKind kHistory>(const auto& history) {
      history.for_each_concurrent(*now.clock,
                                  [&](const AccessRecord& earlier) { report(kHistory, earlier, kKind, now, where); });
    };
  }

  template <class Where>
  [[gnu::noinline]] void report(AccessKind history, const AccessRecord& earlier, AccessKind kind, const Observed& now,
                                const Where& where) {
    const AccessKind earlier_kind = earlier.flavour() == WriteFlavour::kFree ? AccessKind::kFree : history;
    collector_.add(RawAccess{earlier_kind, order_.owner(earlier.epoch()), earlier},
                   RawAccess{kind, now.clock->id(), now.record}, now.size, where, now.event_index);
  }

  Policy policy_;
  Order order_;
  [[no_unique_address]] Sampling sampling_;
  Shadow shadow_;
  SituationTable situations_;
  RaceCollector collector_;
  RuleCounters rules_;
  PagedTable<ThreadState> threads_;  // by ThreadId
  std::uint64_t event_index_ = 0;
};

}  // namespace deadheat
