// SPDX-License-Identifier: Apache-2.0
// Holds: which thread holds which lock, how often.
//
// One record per thread and lock while it is held, in lists by lock. The records lie in
// one array and are used again, so that taking a lock allocates nothing.
//
// What is told can be wrong: a lock may be destroyed while it is held, or be handed to
// another thread that unlocks it. Whoever takes a lock proves that those who could not
// have held it at the same time do not hold it any more.
#pragma once

#include <cstdint>

#include "base/flat_map.h"
#include "base/growable_array.h"
#include "schedule/strategy.h"

namespace deadheat::schedule {

template <class Source>
class Holds {
 public:
  static constexpr std::uint32_t kEnd = ~std::uint32_t{0};

  struct Hold {
    Address lock = 0;
    ThreadNumber thread = kNobody;
    std::uint32_t count = 0;  // recursion
    bool is_shared = false;
    std::uint32_t next = kEnd;  // of the same lock
  };

  // The holds of a lock: for (at = first(lock); at != kEnd; at = hold(at).next).
  [[nodiscard]] std::uint32_t first(Address lock) const {
    const List* list = lists_.find(lock);
    return list == nullptr ? kEnd : list->first;
  }
  [[nodiscard]] const Hold& hold(std::uint32_t at) const { return holds_[at]; }
  [[nodiscard]] bool is_held(Address lock) const { return first(lock) != kEnd; }
  // Of all locks.
  [[nodiscard]] std::uint32_t size() const { return count_; }

  void add(const Request& request) {
    remove_if(request.lock, [&](const Hold& other) {
      return other.thread != request.thread && !(other.is_shared && request.is_shared);
    });
    for (std::uint32_t at = first(request.lock); at != kEnd; at = holds_[at].next) {
      if (holds_[at].thread != request.thread) continue;
      ++holds_[at].count;
      return;
    }
    List& list = lists_[request.lock];
    list.first = make({request.lock, request.thread, 1, request.is_shared, list.first});
  }

  // Once. If the thread does not hold it and one other thread does, it is that one's.
  void release(ThreadNumber thread, Address lock) {
    const std::uint32_t head = first(lock);
    if (head == kEnd) return;
    ThreadNumber holder = thread;
    if (!holds(thread, lock)) {
      if (holds_[head].next != kEnd) return;
      holder = holds_[head].thread;
    }
    remove_if(lock, [&](Hold& hold) { return hold.thread == holder && --hold.count == 0; });
  }

  void forget(Address lock) {
    remove_if(lock, [](const Hold&) { return true; });
  }

  // All that a thread holds, or all that the others hold. Looks at every hold.
  void drop_all_of(ThreadNumber thread) {
    drop_if([&](const Hold& hold) { return hold.thread == thread; });
  }
  void keep_only_those_of(ThreadNumber thread) {
    drop_if([&](const Hold& hold) { return hold.thread != thread; });
  }

  [[nodiscard]] bool holds(ThreadNumber thread, Address lock) const {
    for (std::uint32_t at = first(lock); at != kEnd; at = holds_[at].next) {
      if (holds_[at].thread == thread) return true;
    }
    return false;
  }

 private:
  struct List {
    std::uint32_t first = kEnd;
  };

  std::uint32_t make(const Hold& hold) {
    ++count_;
    if (free_ == kEnd) {
      holds_.push_back(hold);
      return holds_.size() - 1;
    }
    const std::uint32_t at = free_;
    free_ = holds_[at].next;
    holds_[at] = hold;
    return at;
  }
  void free(std::uint32_t at) {
    --count_;
    holds_[at] = Hold{};
    holds_[at].next = free_;
    free_ = at;
  }

  template <class Condition>
  void remove_if(Address lock, Condition&& is_over) {
    List* list = lists_.find(lock);
    if (list == nullptr) return;
    std::uint32_t* link = &list->first;
    while (*link != kEnd) {
      const std::uint32_t at = *link;
      if (!is_over(holds_[at])) {
        link = &holds_[at].next;
        continue;
      }
      *link = holds_[at].next;
      free(at);
    }
    if (list->first == kEnd) lists_.erase(lock);
  }
  template <class Condition>
  void drop_if(Condition&& is_over) {
    for (std::uint32_t at = 0; at < holds_.size(); ++at) {
      if (holds_[at].count != 0 && is_over(holds_[at])) remove_if(holds_[at].lock, is_over);
    }
  }

  GrowableArray<Hold, Source> holds_;  // count 0: free
  FlatMap<List, Source> lists_;        // by lock; none is empty
  std::uint32_t free_ = kEnd;
  std::uint32_t count_ = 0;
};

}  // namespace deadheat::schedule
