// SPDX-License-Identifier: Apache-2.0
// DrFinder: reverses the order in which threads take locks (Cai and Cao, "Effective and
// precise dynamic detection of hidden races for Java programs", FSE 2015).
//
// A race is hidden when its two accesses happen to be ordered by a lock: t writes x and
// then takes m, and u takes m later and then reads x. Were m taken by u first, nothing
// would order the accesses. Plain schedules repeat the order that they had: u has a long
// way to go to m. So when t asks for m, it is made to wait until u has been there.
//
// Who will come to m cannot be known, only guessed: the run before has taught below
// which calls locks of which class were taken (Algorithm 1), and whoever is in such a call
// now may come. Of these one is chosen and escorted (Algorithms 2 and 3):
//
//   request     The escorted thread goes. While somebody is escorted, all others wait in
//               line. Otherwise, if others may trigger a lock of this class: the thread
//               waits, and a random one of them is escorted. Otherwise it goes.
//   acquired    The escorted thread has a lock of the wanted class: the one that waits
//               for it goes. The line is looked at again, in random order.
//
// Where we differ from the paper:
//   - An escorted thread that ends sets free who waits for it. One that is blocked by a
//     lock of a suspended thread, however indirectly, sets free that thread; and nobody
//     that an escorted thread waits for is suspended.
//   - The paper asks what the innermost call of a thread may trigger. Native code is full of
//     small functions that return before anything happens, so the twelve calls around it are
//     asked, too.
//   - Blocked threads are not escorted, nor are those that wait for input: they cannot be
//     driven anywhere.
//   - Threads that an escorted one creates are escorted with it, and any of them may take the
//     lock. Calls that create a thread trigger what the thread does (the runtime tells the
//     calls of the creator with those of the thread): a thread that is yet to be created can be
//     waited for.
//   - The same threads in a loop would be reversed each time round, and a program would
//     crawl. A pair of threads and a class that has been reversed often is left alone
//     more and more: the number of reversals grows with the logarithm of the length.
//   - Whoever waits for a thread waits with some probability for its next lock of the class,
//     too, and so on: a race can be hidden by several hand-overs in a row.
//   - How often a run leaves things alone is drawn from its seed, so that runs differ
//     even where they learned the same.
//   - With Escorts::kMany nobody waits in line: several pairs are on their way at once.
//     Figure 2 of the paper shows why it is not the default: the line is what keeps the
//     thread of the second race where it can still be reversed. Simulated, a first run
//     finds both races with a probability of 0.41 to 0.69 with the line, depending on what
//     the threads do on their way, and of 0.31 to 0.40 without it.
//
// Cost: a request looks at all threads, and one set lookup for each.
#pragma once

#include <cstdint>

#include "base/flat_map.h"
#include "base/growable_array.h"
#include "base/random.h"
#include "base/raw.h"
#include "schedule/relations.h"
#include "schedule/strategy.h"
#include "schedule/threads.h"
#include "schedule/wait_graph.h"

namespace deadheat::schedule {

template <class Source>
class DrFinder final : public Strategy {
 public:
  DrFinder(const Threads<Source>& threads, WaitGraph<Source>& graph, World& world, const RunFile* input,
           const Settings& settings)
      : threads_(threads),
        graph_(graph),
        world_(world),
        input_(input),
        escorts_(settings.escorts),
        look_back_(settings.look_back),
        random_(settings.seed),
        boldness_(1 - static_cast<double>(random_.below(4)) * kShyness) {}

  Decision on_request(const Request& request) override {
    if (is_needed(request.thread)) return kGo;
    Waiter waiter = {request.thread, request.lock_class, kNobody};
    const bool is_in_line = escorts_ == Escorts::kOne && is_anybody_escorted();
    if (!is_in_line) {
      waiter.escorted = choose_for(waiter);
      if (waiter.escorted == kNobody) return kGo;
    }
    waiter.youngest = youngest_;
    waiters_.push_back(waiter);
    set_free(waiter.escorted);
    return kSuspend;
  }

  void on_acquired(const Request& request) override {
    set_free_if([&](const Waiter& waiter) {
      if (!is_escorted_for(waiter, request.thread) || waiter.lock_class != request.lock_class) return false;
      ++reversals_[key_of(waiter)];
      // Perhaps it comes again.
      return !random_.chance(kPatience);
    });
    look_at_line();
  }

  void thread_begins(ThreadNumber thread) override { youngest_ = thread; }
  void thread_ends(ThreadNumber thread) override {
    set_free_if([&](const Waiter& waiter) { return waiter.thread == thread || waiter.escorted == thread; });
    look_at_line();
  }

  // Also when it is not escorted: an escorted one may wait for this one.
  void on_blocked(ThreadNumber /*thread*/) override {
    clear_the_way();
    look_at_line();
  }

  ThreadNumber on_stuck() override {
    const ThreadNumber chosen =
        threads_.choose(random_, [](const Thread& thread) { return thread.state == ThreadState::kSuspended; });
    forget(chosen);
    return chosen;
  }

  void on_timeout(ThreadNumber thread) override {
    for (const Waiter& waiter : waiters_) {
      if (waiter.thread == thread && waiter.escorted != kNobody) reversals_[key_of(waiter)] += kTimeoutWeight;
    }
    forget(thread);
    look_at_line();
  }

 private:
  // A suspended thread.
  struct Waiter {
    ThreadNumber thread = kNobody;
    LockClass lock_class = LockClass::kNone;
    ThreadNumber escorted = kNobody;  // until it has a lock of the class; kNobody: stands in line
    ThreadNumber youngest = kNobody;  // thread when that began
  };

  static constexpr double kPatience = 0.3;            // to wait for one more lock of the class
  static constexpr double kShyness = 0.1;             // a run leaves alone up to three times this
  static constexpr double kFreeReversals = 8;         // after so many, half are left alone
  static constexpr std::uint32_t kTimeoutWeight = 4;  // a wait in vain is dear

  [[nodiscard]] static std::uint64_t key_of(const Waiter& waiter) {
    return spread(raw(waiter.lock_class) ^ spread((std::uint64_t{waiter.thread} << 32) | waiter.escorted));
  }

  // It is the escorted thread, or was created by it since.
  [[nodiscard]] bool is_escorted_for(const Waiter& waiter, ThreadNumber thread) const {
    if (waiter.escorted == kNobody) return false;
    while (thread != waiter.escorted && thread > waiter.youngest) {
      const Thread* known = threads_.find(thread);
      thread = known == nullptr ? kNobody : known->parent;
    }
    return thread == waiter.escorted;
  }

  [[nodiscard]] bool is_anybody_escorted() const {
    for (const Waiter& waiter : waiters_) {
      if (waiter.escorted != kNobody) return true;
    }
    return false;
  }
  // Is escorted, or in the way of one that is.
  [[nodiscard]] bool is_needed(ThreadNumber thread) {
    bool is_found = false;
    for (const Waiter& waiter : waiters_) {
      if (waiter.escorted == kNobody) continue;
      if (is_escorted_for(waiter, thread)) return true;
      graph_.for_each_obstacle(waiter.escorted, [&](ThreadNumber obstacle) { is_found |= obstacle == thread; });
      if (is_found) return true;
    }
    return false;
  }

  // Whom to escort before the thread may go; kNobody to leave it alone.
  [[nodiscard]] ThreadNumber choose_for(const Waiter& waiter) {
    if (input_ == nullptr) return kNobody;
    Waiter pair = waiter;
    pair.escorted = threads_.choose(random_, [&](const Thread& other) {
      return other.number != waiter.thread && other.state != ThreadState::kBlocked &&
             may_trigger(other.number, waiter.lock_class) && !world_.waits_for_input(other.number);
    });
    if (pair.escorted == kNobody) return kNobody;
    const std::uint32_t* reversed = reversals_.find(key_of(pair));
    const double past = reversed == nullptr ? 0 : *reversed;
    return random_.chance(boldness_ * kFreeReversals / (kFreeReversals + past)) ? pair.escorted : kNobody;
  }
  [[nodiscard]] bool may_trigger(ThreadNumber thread, LockClass lock_class) {
    for (std::uint32_t level = 0; level < look_back_; ++level) {
      const FunctionId function = world_.function_of(thread, level);
      if (function == FunctionId::kNone) return false;
      if (has_relation(*input_, relation(function, lock_class))) return true;
    }
    return false;
  }

  // Nobody is escorted any more: the next of those in line may have somebody escorted,
  // and those for whom nobody is to be expected go.
  void look_at_line() {
    while (!waiters_.empty() && !is_anybody_escorted()) {
      const auto at = static_cast<std::uint32_t>(random_.below(waiters_.size()));
      waiters_[at].escorted = choose_for(waiters_[at]);
      waiters_[at].youngest = youngest_;
      set_free(waiters_[at].escorted == kNobody ? waiters_[at].thread : waiters_[at].escorted);
    }
    clear_the_way();
  }

  // Suspended threads that escorted ones wait for go on.
  void clear_the_way() {
    while (const ThreadNumber obstacle = suspended_obstacle()) set_free(obstacle);
  }
  [[nodiscard]] ThreadNumber suspended_obstacle() {
    ThreadNumber found = kNobody;
    for (const Waiter& waiter : waiters_) {
      if (waiter.escorted == kNobody) continue;
      graph_.for_each_obstacle(waiter.escorted, [&](ThreadNumber obstacle) {
        if (threads_.is_suspended(obstacle)) found = obstacle;
      });
    }
    return found;
  }

  void set_free(ThreadNumber thread) {
    if (thread == kNobody) return;
    forget(thread);
    world_.resume(thread);
  }
  void forget(ThreadNumber thread) {
    for (std::uint32_t at = 0; at < waiters_.size(); ++at) {
      if (waiters_[at].thread == thread) return waiters_.erase(at);
    }
  }
  template <class Condition>
  void set_free_if(Condition&& is_over) {
    for (std::uint32_t at = 0; at < waiters_.size();) {
      if (!is_over(waiters_[at])) {
        ++at;
        continue;
      }
      const ThreadNumber thread = waiters_[at].thread;
      waiters_.erase(at);
      world_.resume(thread);
    }
  }

  const Threads<Source>& threads_;
  WaitGraph<Source>& graph_;
  World& world_;
  const RunFile* input_;
  const Escorts escorts_;
  const std::uint32_t look_back_;
  Random random_;
  double boldness_;                  // the probability of a reversal that has not been made yet
  ThreadNumber youngest_ = kNobody;  // the thread that began last
  GrowableArray<Waiter, Source> waiters_;
  FlatMap<std::uint32_t, Source> reversals_;
};

}  // namespace deadheat::schedule
