// SPDX-License-Identifier: Apache-2.0
// Scheduler: what the runtime tells of the program's synchronisation and asks about it.
//
// It keeps the states of threads and locks, learns the may-trigger relations (Algorithm 1
// of DrFinder, FSE 2015), writes the log of acquisitions, asks the strategy, and sees to
// it that a program under a strategy never stands still:
//
//   thrashing   Nobody runs and somebody is suspended: one is chosen and goes. Looked for
//               whenever a thread is suspended, blocks or ends.
//   deadlock    A cycle of threads that wait for each other's locks. Looked for whenever a
//               thread blocks (wait_graph.h), and told to the caller.
//
// What it cannot see (a thread that spins until a suspended one acts) ends by the
// runtime's time limit on suspensions, see timed_out().
//
// All calls come under one lock of the caller's. None of them waits. A call with a thread
// that never began, or has ended, lets it pass; a lock that was never seen to be taken may
// be released. Without an input nothing is known beforehand, without an output nothing is
// kept.
//
// The order of calls around a lock:
//   request -> (suspended) -> blocks, if the lock is held -> unblocks -> acquired,
// acquired after the program has the lock, and released before it gives it up. A condition
// wait is released, blocks(thread, 0), unblocks, acquired.
#pragma once

#include <cstdint>

#include "base/growable_array.h"
#include "base/random.h"
#include "schedule/again.h"
#include "schedule/contest.h"
#include "schedule/drfinder.h"
#include "schedule/holds.h"
#include "schedule/native.h"
#include "schedule/pct.h"
#include "schedule/relations.h"
#include "schedule/run_file.h"
#include "schedule/strategy.h"
#include "schedule/threads.h"
#include "schedule/wait_graph.h"

namespace deadheat::schedule {

template <class Source>
class Scheduler final : private World {
 public:
  // All must live as long as this; `input` and `output` may be null.
  Scheduler(const Settings& settings, World& world, const RunFile* input, RunFile* output)
      : settings_(settings),
        world_(world),
        output_(output),
        drfinder_(threads_, graph_, *this, input, settings),
        pct_(threads_, *this, input, settings),
        contest_(settings),
        again_(threads_, *this, input),
        strategy_(&strategy_of(settings.strategy)),
        random_(settings.seed ^ kOwnSeed) {}
  // With a strategy of the caller's, for tests.
  Scheduler(Strategy& strategy, const Settings& settings, World& world, const RunFile* input, RunFile* output)
      : Scheduler(settings, world, input, output) {
    strategy_ = &strategy;
  }
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // `ancestry` is a hash of the how manieth child of whom it is: the same in every run.
  void thread_begins(ThreadNumber number, std::uint32_t ancestry, ThreadNumber parent = kNobody) {
    ++counters().threads;
    threads_.add({number, ThreadState::kRunning, ancestry, 0, 0, parent});
    strategy_->thread_begins(number);
  }
  // What it holds counts as released.
  void thread_ends(ThreadNumber number) {
    holds_.drop_all_of(number);
    if (threads_.find(number) == nullptr) return;
    threads_.remove(number);
    strategy_->thread_ends(number);
    resolve_thrashing();
  }

  // Before a thread takes a lock. `calls` are its open calls, innermost first. After
  // kSuspend it waits until World::resume() or timed_out(), and then takes the lock
  // without asking again. World::resume() is not called for it before this returns.
  [[nodiscard]] Decision request(const Request& request, const FunctionId* calls, std::uint32_t call_count) {
    ++counters().requests;
    ++counters().steps;
    learn(request.lock_class, calls, call_count);
    if (threads_.find(request.thread) == nullptr) return kGo;
    return carry_out(request.thread, strategy_->on_request(request));
  }

  // The thread has the lock: after a request, by a try, or at the end of a condition wait.
  void acquired(const Request& request) {
    holds_.add(request);
    block_others(request);
    Thread* thread = threads_.find(request.thread);
    if (thread == nullptr) return;
    thread->wanted = 0;
    log({thread->ancestry, logged(request.lock_class)});
    strategy_->on_acquired(request);
  }
  // The thread is about to give it up, once if it holds it several times.
  void released(ThreadNumber number, Address lock) {
    holds_.release(number, lock);
    if (threads_.find(number) != nullptr) strategy_->on_released(number, lock);
  }

  // The lock is made anew, or is no more: nobody holds it.
  void forgotten(Address lock) { holds_.forget(lock); }

  // Before any other synchronisation; as request().
  [[nodiscard]] Decision point(ThreadNumber number) {
    ++counters().steps;
    if (threads_.find(number) == nullptr) return kGo;
    return carry_out(number, strategy_->on_point(number));
  }

  // The thread begins to wait for what only another thread can give it: for a lock, or
  // (0) for anything else. Not for what ends by itself, a sleep or a wait with a time
  // limit: such a thread runs. Returns the deadlock that this completes, if it does.
  // A lock that is free now may be taken by others before the thread gets it, so this is to
  // be called for every lock: it runs until somebody else takes the lock.
  [[nodiscard]] Cycle blocks(ThreadNumber number, Address lock, SelfWait self_wait) {
    Thread* thread = threads_.find(number);
    if (thread == nullptr) return {};
    thread->wanted = lock;
    thread->place = 0;
    if (lock != 0 && (!holds_.is_held(lock) || holds_.holds(number, lock)) && self_wait == SelfWait::kHarmless)
      return {};
    thread->state = ThreadState::kBlocked;
    strategy_->on_blocked(number);
    resolve_thrashing();
    return graph_.cycle_through(number, self_wait);
  }
  // As blocks(number, 0), for a place that lets all go at once.
  void waits_at(ThreadNumber number, Address place) {
    Thread* thread = threads_.find(number);
    if (thread == nullptr) return;
    static_cast<void>(blocks(number, 0, SelfWait::kHarmless));
    thread->place = place;
  }
  // The place has let somebody go: all who wait there run, though some have not woken up.
  void passes(Address place) {
    for (Thread& thread : threads_) {
      if (thread.place != place || thread.state != ThreadState::kBlocked || thread.wanted != 0) continue;
      thread.state = ThreadState::kRunning;
      thread.place = 0;
      strategy_->on_unblocked(thread.number);
    }
  }
  void unblocks(ThreadNumber number) {
    Thread* thread = threads_.find(number);
    if (thread == nullptr) return;
    thread->wanted = 0;
    if (thread->state != ThreadState::kBlocked) return;
    thread->state = ThreadState::kRunning;
    strategy_->on_unblocked(number);
  }

  // A suspended thread has waited as long as it may, and goes. Nothing happens if it was
  // resumed a moment before.
  void timed_out(ThreadNumber number) {
    if (!threads_.is_suspended(number)) return;
    ++counters().timeouts;
    threads_.find(number)->state = ThreadState::kRunning;
    strategy_->on_timeout(number);
  }
  // So long a thread was suspended or delayed, told when it goes on.
  void waited(std::uint64_t nanoseconds) { counters().suspended_ns += nanoseconds; }

  // In the child of a fork: the other threads are not there, and the output is the
  // parent's.
  void forget_others(ThreadNumber number) {
    output_ = nullptr;
    holds_.keep_only_those_of(number);
    GrowableArray<ThreadNumber, Source> others;
    for (const Thread& thread : threads_) {
      if (thread.number != number) others.push_back(thread.number);
    }
    // First all of them: a strategy must not resume one that is gone.
    for (const ThreadNumber other : others) threads_.remove(other);
    for (const ThreadNumber other : others) strategy_->thread_ends(other);
  }

  // Those of the output, if there is one.
  [[nodiscard]] RunCounters& counters() { return output_ != nullptr ? output_->header.counters : own_counters_; }
  [[nodiscard]] const Threads<Source>& threads() const { return threads_; }
  [[nodiscard]] const Holds<Source>& holds() const { return holds_; }

 private:
  static constexpr std::uint64_t kOwnSeed = 0x7363686564756c65;

  [[nodiscard]] Strategy& strategy_of(StrategyKind kind) {
    switch (kind) {
      case StrategyKind::kNative:
        return native_;
      case StrategyKind::kDrFinder:
        return drfinder_;
      case StrategyKind::kPct:
        return pct_;
      case StrategyKind::kConTest:
        return contest_;
      case StrategyKind::kAgain:
        return again_;
    }
    return native_;
  }

  // Algorithm 1, lines 13 to 16.
  void learn(LockClass lock_class, const FunctionId* calls, std::uint32_t call_count) {
    if (output_ == nullptr || lock_class == LockClass::kNone) return;
    for (std::uint32_t at = 0; at < call_count && at < settings_.call_depth; ++at) {
      if (calls[at] != FunctionId::kNone) add_relation(*output_, relation(calls[at], lock_class));
    }
  }

  void log(Acquisition acquisition) {
    if (output_ == nullptr) return;
    RunFileHeader& header = output_->header;
    if (header.acquisition_count >= kAcquisitionPlaces) {
      ++header.counters.lost_acquisitions;
      return;
    }
    output_->acquisitions[header.acquisition_count] = acquisition;
    ++header.acquisition_count;
  }

  [[nodiscard]] Decision carry_out(ThreadNumber number, Decision decision) {
    if (decision.verdict == Verdict::kGo) return decision;
    ++counters().suspensions;
    threads_.find(number)->state = ThreadState::kSuspended;
    asking_ = number;
    resolve_thrashing();
    asking_ = kNobody;
    return threads_.is_suspended(number) ? decision : kGo;
  }

  // Whoever was about to take the lock is blocked now.
  void block_others(const Request& request) {
    if (request.is_shared) return;
    bool has_blocked = false;
    for (Thread& other : threads_) {
      if (other.wanted != request.lock || other.number == request.thread || other.state != ThreadState::kRunning)
        continue;
      other.state = ThreadState::kBlocked;
      has_blocked = true;
      strategy_->on_blocked(other.number);
    }
    if (has_blocked) resolve_thrashing();
  }

  // A thread that waits for a lock which nobody holds any more is about to wake.
  [[nodiscard]] bool can_run(const Thread& thread) const {
    if (thread.state == ThreadState::kRunning) return true;
    return thread.state == ThreadState::kBlocked && thread.wanted != 0 && !holds_.is_held(thread.wanted);
  }

  // Somebody is suspended, and nobody runs.
  [[nodiscard]] bool is_thrashing() const {
    bool has_suspended = false;
    for (const Thread& thread : threads_) {
      if (can_run(thread)) return false;
      has_suspended = has_suspended || thread.state == ThreadState::kSuspended;
    }
    return has_suspended;
  }
  void resolve_thrashing() {
    if (!is_thrashing()) return;
    ++counters().thrashings;
    set_going(strategy_->on_stuck());
    if (!is_thrashing()) return;
    set_going(threads_.choose(random_, [](const Thread& thread) { return thread.state == ThreadState::kSuspended; }));
  }

  // The one that asks has not gone to sleep yet: it learns from the decision.
  void set_going(ThreadNumber number) {
    Thread* thread = threads_.find(number);
    if (thread == nullptr || thread->state != ThreadState::kSuspended) return;
    thread->state = ThreadState::kRunning;
    if (number != asking_) world_.resume(number);
  }

  // World, for the strategy.
  FunctionId function_of(ThreadNumber number, std::uint32_t level) override {
    return world_.function_of(number, level);
  }
  void resume(ThreadNumber number) override {
    if (threads_.is_suspended(number)) ++counters().resumed;
    set_going(number);
  }
  bool waits_for_input(ThreadNumber number) override { return world_.waits_for_input(number); }
  void note_divergence() override { ++counters().diverged; }

  const Settings settings_;
  World& world_;
  RunFile* output_;
  RunCounters own_counters_;  // without an output
  Threads<Source> threads_;
  Holds<Source> holds_;
  WaitGraph<Source> graph_{threads_, holds_};
  Native native_;
  DrFinder<Source> drfinder_;
  Pct<Source> pct_;
  ConTest contest_;
  Again<Source> again_;
  Strategy* strategy_;
  Random random_;
  ThreadNumber asking_ = kNobody;  // in request() or point(), and to be suspended
};

}  // namespace deadheat::schedule
