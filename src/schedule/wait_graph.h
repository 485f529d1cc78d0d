// SPDX-License-Identifier: Apache-2.0
// WaitGraph: who waits for whom. A blocked thread waits for all that hold the lock it
// wants; a thread that runs or is suspended waits for nobody.
//
// A deadlock is a cycle. It appears when a thread begins to wait, never when one takes a
// lock (who takes one is not blocked), so it is enough to look from that thread on. A
// lock with several holders (readers) is free only when all of them let go, so that a
// cycle through any of them is one.
//
// A suspended thread in the way is not a deadlock: it can be resumed. When it then waits
// for a lock in its turn, the cycle is closed, and found.
//
// Cost: each thread and each of its lock's holds once per walk.
#pragma once

#include <cstdint>

#include "base/growable_array.h"
#include "schedule/holds.h"
#include "schedule/threads.h"

namespace deadheat::schedule {

// Threads that wait for each other: each holds the lock that the one before it wants,
// and the first one holds what the last one wants.
struct Cycle {
  struct Member {
    ThreadNumber thread = kNobody;
    Address wanted = 0;
  };
  std::uint32_t length = 0;  // 0: there is none
  Member members[kDeadlockThreads];

  explicit operator bool() const { return length != 0; }
  // Of a long cycle only the beginning is told.
  [[nodiscard]] std::uint32_t count() const { return length < kDeadlockThreads ? length : kDeadlockThreads; }
};

// A thread waits for a lock that it holds itself.
enum class SelfWait : std::uint8_t {
  kHarmless,  // the lock is recursive, or somebody else will unlock it
  kDeadlock,  // a plain mutex, a reader that wants to write
};

template <class Source>
class WaitGraph {
 public:
  WaitGraph(Threads<Source>& threads, const Holds<Source>& holds) : threads_(threads), holds_(holds) {}

  // The cycle through a thread that is blocked.
  [[nodiscard]] Cycle cycle_through(ThreadNumber number, SelfWait self_wait) {
    begin_walk(number);
    while (const ThreadNumber holder = next_holder()) {
      if (holder == number && (path_.size() > 1 || self_wait == SelfWait::kDeadlock)) return cycle_of_path();
      enter(holder);
    }
    return {};
  }

  // Calls visit(number) for every thread that must do something before this one can go
  // on, once. visit() must not begin or end threads.
  template <class Visit>
  void for_each_obstacle(ThreadNumber number, Visit&& visit) {
    begin_walk(number);
    while (const ThreadNumber holder = next_holder()) {
      if (enter(holder)) visit(holder);
    }
  }

 private:
  struct Step {
    ThreadNumber thread = kNobody;
    std::uint32_t hold = 0;  // the next one to follow, of the lock that the thread wants
  };

  void begin_walk(ThreadNumber number) {
    ++walk_;
    path_.clear();
    enter(number);
  }

  // A holder of what the last thread of the path wants. Shortens the path where there is
  // no more; kNobody at the end of the walk.
  ThreadNumber next_holder() {
    while (!path_.empty()) {
      Step& step = path_[path_.size() - 1];
      if (step.hold != Holds<Source>::kEnd) {
        const auto& hold = holds_.hold(step.hold);
        step.hold = hold.next;
        return hold.thread;
      }
      path_.resize(path_.size() - 1);
    }
    return kNobody;
  }

  // False if it has been seen in this walk, or is unknown.
  bool enter(ThreadNumber number) {
    Thread* thread = threads_.find(number);
    if (thread == nullptr || thread->visit == walk_) return false;
    thread->visit = walk_;
    const bool waits = thread->state == ThreadState::kBlocked && thread->wanted != 0;
    path_.push_back({number, waits ? holds_.first(thread->wanted) : Holds<Source>::kEnd});
    return true;
  }

  [[nodiscard]] Cycle cycle_of_path() {
    Cycle cycle;
    cycle.length = path_.size();
    for (std::uint32_t at = 0; at < cycle.count(); ++at) {
      cycle.members[at] = {path_[at].thread, threads_.find(path_[at].thread)->wanted};
    }
    return cycle;
  }

  Threads<Source>& threads_;
  const Holds<Source>& holds_;
  GrowableArray<Step, Source> path_;
  std::uint32_t walk_ = 0;
};

}  // namespace deadheat::schedule
