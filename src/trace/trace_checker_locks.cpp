// SPDX-License-Identifier: Apache-2.0
// The checker's rules for locks and for the waits that give them up.
#include <fmt/format.h>

#include <algorithm>

#include "trace/trace_checker.h"

namespace deadheat {

namespace {

const char* adverb(LockMode mode) { return mode == LockMode::kShared ? "shared" : "exclusively"; }

template <class Holders>
auto find_holder(Holders& holders, ThreadId thread) {
  return std::find_if(holders.begin(), holders.end(), [thread](const auto& holder) { return holder.thread == thread; });
}

}  // namespace

// A lock dies with its holder only in the sense that others may take it: a
// robust mutex reports the dead owner to the next one.
void TraceChecker::drop_dead_holders(LockState& lock) const {
  std::erase_if(lock.holders, [this](const Holder& holder) { return !is_alive(holder.thread); });
}

std::string TraceChecker::lock_acquire(const Event& event) {
  LockState& lock = locks_[raw(event.sync())];
  const LockMode mode = event.lock_mode();
  const auto self = find_holder(lock.holders, event.thread);
  if (self != lock.holders.end()) {
    if (lock.mode != mode) {
      return fmt::format("acquires lock {} {} while it holds it {}", name(event.sync()), adverb(mode),
                         adverb(lock.mode));
    }
    if (event.depth != self->depth + 1) {
      return fmt::format("acquires lock {} at depth {} while it holds it at depth {}", name(event.sync()), event.depth,
                         self->depth);
    }
    ++self->depth;
    return {};
  }
  if (lock.mode != mode || mode == LockMode::kExclusive) {
    drop_dead_holders(lock);
    if (!lock.holders.empty()) {
      return fmt::format("acquires lock {} {} while {} holds it {}", name(event.sync()), adverb(mode),
                         name(lock.holders.front().thread), adverb(lock.mode));
    }
  }
  if (event.depth != 1) {
    return fmt::format("acquires lock {} at depth {} without holding it", name(event.sync()), event.depth);
  }
  lock.mode = mode;
  lock.holders.push_back({event.thread, 1});
  return {};
}

std::string TraceChecker::lock_release(const Event& event) {
  LockState& lock = locks_[raw(event.sync())];
  const auto self = find_holder(lock.holders, event.thread);
  if (self == lock.holders.end()) return fmt::format("releases lock {} that it does not hold", name(event.sync()));
  if (lock.mode != event.lock_mode()) {
    return fmt::format("releases lock {} {} that it holds {}", name(event.sync()), adverb(event.lock_mode()),
                       adverb(lock.mode));
  }
  if (event.depth != self->depth) {
    return fmt::format("releases lock {} at depth {} while it holds it at depth {}", name(event.sync()), event.depth,
                       self->depth);
  }
  if (--self->depth == 0) lock.holders.erase(self);
  return {};
}

std::string TraceChecker::wait_begin(const Event& event) {
  LockState& lock = locks_[raw(event.mutex())];
  const auto self = find_holder(lock.holders, event.thread);
  const auto problem = [&](std::string_view what) {
    return fmt::format("waits on condition {} with mutex {} that it {}", name(event.sync()), name(event.mutex()), what);
  };
  if (self == lock.holders.end()) return problem("does not hold");
  if (lock.mode != LockMode::kExclusive) return problem("holds only shared");
  if (self->depth != 1) return problem("holds more than once");
  lock.holders.clear();
  ThreadState& thread = state(event.thread);
  thread.wait_condition = event.sync();
  thread.wait_mutex = event.mutex();
  set_activity(event.thread, Activity::kWaiting);
  return {};
}

std::string TraceChecker::wait_end(const Event& event) {
  if (activity(event.thread) != Activity::kWaiting) {
    return fmt::format("ends a wait on condition {} that it has not begun", name(event.sync()));
  }
  const ThreadState& thread = state(event.thread);
  if (thread.wait_condition != event.sync() || thread.wait_mutex != event.mutex()) {
    return fmt::format("ends a wait on condition {} with mutex {}, but it began one on {} with {}", name(event.sync()),
                       name(event.mutex()), name(thread.wait_condition), name(thread.wait_mutex));
  }
  LockState& lock = locks_[raw(event.mutex())];
  drop_dead_holders(lock);
  if (!lock.holders.empty()) {
    return fmt::format("ends a wait while {} holds its mutex {}", name(lock.holders.front().thread),
                       name(event.mutex()));
  }
  lock.mode = LockMode::kExclusive;
  lock.holders.push_back({event.thread, 1});
  set_activity(event.thread, Activity::kRunning);
  return {};
}

}  // namespace deadheat
