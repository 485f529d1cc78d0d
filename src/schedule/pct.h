// SPDX-License-Identifier: Apache-2.0
// PCT: probabilistic concurrency testing (Burckhardt et al., ASPLOS 2010).
//
// A bug has depth d if d steps in the right order are enough to make it happen. PCT gives
// every thread a random priority and always runs the enabled thread with the highest one.
// At d - 1 random ones of the k steps of a run, the thread that makes the step falls
// below all that have not fallen; among the fallen the order is random too. With n
// threads a run meets a given bug of depth d with a probability of at least
//
//     1 / (n * k^(d-1)),
//
// whatever the program is. A blocked thread is not enabled. k is taken from the run before.
//
// Where we differ: a step is a synchronisation point, and a thread is stopped at its next
// one only; until then it runs beside the highest. The bound holds for bugs whose steps
// are points. A thread that waits for another one by spinning would starve it forever:
// when a thread has waited as long as it may, the highest one falls below all others, as
// in the paper.
//
// Cost: each point looks at all threads.
#pragma once

#include <cstdint>

#include "base/flat_map.h"
#include "base/random.h"
#include "schedule/strategy.h"
#include "schedule/threads.h"

namespace deadheat::schedule {

template <class Source>
class Pct final : public Strategy {
 public:
  Pct(const Threads<Source>& threads, World& world, const RunFile* input, const Settings& settings)
      : threads_(threads), world_(world), random_(settings.seed) {
    std::uint64_t steps = input == nullptr ? 0 : input->header.counters.steps;
    if (steps == 0) steps = kUnknownLength;
    while (change_count_ + 1 < settings.bug_depth && change_count_ < kMostChanges) {
      changes_[change_count_++] = 1 + random_.below(steps);
    }
  }

  void thread_begins(ThreadNumber thread) override { priorities_[thread] = kInitial + (random_.next() >> 2); }
  void thread_ends(ThreadNumber thread) override {
    priorities_.erase(thread);
    let_highest_run();
  }
  Decision on_request(const Request& request) override { return on_point(request.thread); }
  Decision on_point(ThreadNumber thread) override {
    ++step_;
    for (std::uint32_t change = 0; change < change_count_; ++change) {
      if (changes_[change] == step_) priorities_[thread] = kChanged + change;
    }
    const ThreadNumber first = highest();
    if (first == thread) return kGo;
    world_.resume(first);
    return kSuspend;
  }
  void on_blocked(ThreadNumber /*thread*/) override { let_highest_run(); }
  ThreadNumber on_stuck() override { return highest(); }
  void on_timeout(ThreadNumber thread) override {
    if (const ThreadNumber first = highest(); first != thread) priorities_[first] = --lowest_;
    let_highest_run();
  }

 private:
  static constexpr std::uint64_t kUnknownLength = 1000;
  static constexpr std::uint32_t kMostChanges = 16;
  // Priorities: of the beginning from here on, after a change from there on, and below
  // that those who let others starve.
  static constexpr std::uint64_t kInitial = std::uint64_t{1} << 62;
  static constexpr std::uint64_t kChanged = std::uint64_t{1} << 61;

  // Of the enabled threads; kNobody if there is none.
  [[nodiscard]] ThreadNumber highest() {
    ThreadNumber best = kNobody;
    std::uint64_t most = 0;
    for (const Thread& thread : threads_) {
      const std::uint64_t* priority = priorities_.find(thread.number);
      if (priority == nullptr || thread.state == ThreadState::kBlocked || *priority <= most) continue;
      best = thread.number;
      most = *priority;
    }
    return best;
  }
  // resume() ignores those that run.
  void let_highest_run() { world_.resume(highest()); }

  const Threads<Source>& threads_;
  World& world_;
  Random random_;
  FlatMap<std::uint64_t, Source> priorities_;  // by thread
  std::uint64_t lowest_ = kChanged;
  std::uint64_t step_ = 0;
  std::uint64_t changes_[kMostChanges] = {};
  std::uint32_t change_count_ = 0;
};

}  // namespace deadheat::schedule
