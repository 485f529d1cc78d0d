// SPDX-License-Identifier: Apache-2.0
// Threads: those that live, and what each of them does. Written by the scheduler only;
// strategies read it.
#pragma once

#include <cstdint>

#include "base/flat_map.h"
#include "base/growable_array.h"
#include "base/random.h"
#include "schedule/strategy.h"

namespace deadheat::schedule {

enum class ThreadState : std::uint8_t {
  kRunning,
  kSuspended,  // by a strategy, until somebody resumes it
  kBlocked,    // by the program: a lock that is held, a join, a condition
};

struct Thread {
  ThreadNumber number = kNobody;
  ThreadState state = ThreadState::kRunning;
  std::uint32_t ancestry = 0;  // the same in every run
  std::uint32_t visit = 0;     // of the walk that saw it last, see wait_graph.h
  Address wanted = 0;          // the lock it is about to take, or is blocked by; 0 is anything else
  ThreadNumber parent = kNobody;
  Address place = 0;  // while it is blocked: the barrier or the like
};

template <class Source>
class Threads {
 public:
  [[nodiscard]] std::uint32_t size() const { return threads_.size(); }
  [[nodiscard]] const Thread* begin() const { return threads_.begin(); }
  [[nodiscard]] const Thread* end() const { return threads_.end(); }
  [[nodiscard]] Thread* begin() { return threads_.begin(); }
  [[nodiscard]] Thread* end() { return threads_.end(); }

  // nullptr if it never began or has ended. Valid until a thread begins or ends.
  [[nodiscard]] Thread* find(ThreadNumber number) {
    const std::uint32_t* place = places_.find(number);
    return place == nullptr ? nullptr : &threads_[*place];
  }
  [[nodiscard]] const Thread* find(ThreadNumber number) const { return const_cast<Threads*>(this)->find(number); }

  [[nodiscard]] bool is_suspended(ThreadNumber number) const {
    const Thread* thread = find(number);
    return thread != nullptr && thread->state == ThreadState::kSuspended;
  }

  // A number that is there already is the same thread begun anew.
  void add(const Thread& thread) {
    if (Thread* known = find(thread.number)) {
      *known = thread;
      return;
    }
    places_[thread.number] = threads_.size();
    threads_.push_back(thread);
  }
  void remove(ThreadNumber number) {
    const std::uint32_t* found = places_.find(number);
    if (found == nullptr) return;
    const std::uint32_t place = *found;
    places_.erase(number);
    const std::uint32_t last = threads_.size() - 1;
    if (place != last) {
      threads_[place] = threads_[last];
      places_[threads_[place].number] = place;
    }
    threads_.resize(last);
  }

  // One of those for which is_eligible(thread) holds, all with the same probability;
  // kNobody if there is none.
  template <class Eligible>
  [[nodiscard]] ThreadNumber choose(Random& random, Eligible&& is_eligible) const {
    ThreadNumber chosen = kNobody;
    std::uint64_t count = 0;
    for (const Thread& thread : threads_) {
      if (is_eligible(thread) && random.below(++count) == 0) chosen = thread.number;
    }
    return chosen;
  }

 private:
  GrowableArray<Thread, Source> threads_;
  FlatMap<std::uint32_t, Source> places_;  // of a number in threads_
};

}  // namespace deadheat::schedule
