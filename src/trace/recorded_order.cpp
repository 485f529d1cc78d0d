// SPDX-License-Identifier: Apache-2.0
#include "trace/recorded_order.h"

#include <algorithm>
#include <map>
#include <optional>
#include <queue>
#include <unordered_map>

namespace deadheat {
namespace {

// Of opaque threads among each other.
constexpr SyncId kOpaqueTag{~0ULL - 2};

bool acquires(const Event& event) {
  switch (event.kind) {
    case EventKind::kLockAcquire:
    case EventKind::kCondWaitEnd:
    case EventKind::kBarrierLeave:
    case EventKind::kSemaphoreWait:
    case EventKind::kOnceObserve:
    case EventKind::kJoin:
    case EventKind::kHappensAfter:
    case EventKind::kAlloc:
      return true;
    default:
      return false;
  }
}

// A thread's entries and accesses, in its own order, each with its latest moment.
class ThreadCursor {
 public:
  explicit ThreadCursor(const OrderedThread& ordered) : ordered_(&ordered) {}

  [[nodiscard]] bool is_done() const { return entry_ == log().size() && !has_access(); }
  [[nodiscard]] bool is_access_next() const {
    if (!has_access()) return false;
    return entry_ == log().size() || ordered_->accesses[access_].time < log()[entry_].time;
  }
  [[nodiscard]] std::uint64_t time() const { return entry_ == log().size() ? ~std::uint64_t{0} : log()[entry_].time; }
  // Of equal times: releases, accesses, acquires.
  [[nodiscard]] int rank() const { return is_access_next() ? 1 : acquires(log()[entry_].event) ? 2 : 0; }

  [[nodiscard]] const PlacedAccess& access() const { return ordered_->accesses[access_]; }
  [[nodiscard]] const LoggedEvent& entry() const { return log()[entry_]; }
  [[nodiscard]] const OrderedThread& ordered() const { return *ordered_; }
  void advance() { ++(is_access_next() ? access_ : entry_); }

 private:
  [[nodiscard]] const std::vector<LoggedEvent>& log() const { return ordered_->thread->log; }
  [[nodiscard]] bool has_access() const { return access_ < ordered_->accesses.size(); }

  const OrderedThread* ordered_;
  std::size_t entry_ = 0;
  std::size_t access_ = 0;
};

class Ordering {
 public:
  Ordering(std::span<const OrderedThread> threads, const SiteOfCode& site_of) : threads_(threads), site_of_(site_of) {}

  std::vector<Event> run() {
    const auto is_later = [](const ThreadCursor* one, const ThreadCursor* other) {
      if (one->time() != other->time()) return one->time() > other->time();
      if (one->rank() != other->rank()) return one->rank() > other->rank();
      return one->ordered().thread->id > other->ordered().thread->id;
    };
    std::vector<ThreadCursor> cursors;
    cursors.reserve(threads_.size());
    for (const OrderedThread& thread : threads_) cursors.emplace_back(thread);
    std::priority_queue<ThreadCursor*, std::vector<ThreadCursor*>, decltype(is_later)> queue(is_later);
    for (ThreadCursor& cursor : cursors) {
      if (!cursor.is_done()) queue.push(&cursor);
    }
    while (!queue.empty()) {
      ThreadCursor* const cursor = queue.top();
      queue.pop();
      step(*cursor);
      if (!cursor->is_done()) queue.push(cursor);
    }
    return std::move(events_);
  }

 private:
  struct Held {
    std::uint16_t depth = 0;
    LockMode mode = LockMode::kExclusive;
  };

  void step(ThreadCursor& cursor) {
    const OrderedThread& ordered = cursor.ordered();
    const ThreadId self = ordered.thread->id;
    if (ended_.contains(self)) return cursor.advance();
    begin(ordered);
    if (cursor.is_access_next()) {
      if (!is_left_out(ordered)) events_.push_back(cursor.access().event);
      return cursor.advance();
    }
    const LoggedEvent& entry = cursor.entry();
    if (is_left_out(ordered)) add(events::on_sync(EventKind::kHappensAfter, self, kOpaqueTag));
    add_entry(entry, ordered);
    if (is_left_out(ordered) && !ended_.contains(self)) {
      add(events::on_sync(EventKind::kHappensBefore, self, kOpaqueTag));
    }
    cursor.advance();
  }

  static bool is_left_out(const OrderedThread& ordered) { return ordered.is_opaque || ordered.thread->is_root; }

  // Nobody logged how a root came to be: it knows all that anybody did before.
  void begin(const OrderedThread& ordered) {
    if (!begun_.emplace(ordered.thread->id, true).second) return;
    const ThreadId self = ordered.thread->id;
    if (ordered.thread->is_root) {
      add(events::plain(EventKind::kThreadRoot, self));
      for (const auto& [other, is_live] : begun_) {
        if (other != self && !ended_.contains(other))
          add(events::on_sync(EventKind::kHappensBefore, other, kOpaqueTag));
      }
      add(events::on_sync(EventKind::kHappensAfter, self, kOpaqueTag));
    } else if (!events_.empty() && !forked_.contains(self)) {
      add(events::plain(EventKind::kThreadRoot, self));
    }
    // What counts for everybody counts for those who come later, too.
    if (has_everybody_) add(events::on_sync(EventKind::kHappensAfter, self, kEverybodyTag));
  }

  void add(Event event) { events_.push_back(event); }

  void add_entry(const LoggedEvent& entry, const OrderedThread& ordered) {
    Event event = entry.event;
    if (entry.code != 0) event.site = site_of_(entry.code);
    switch (event.kind) {
      case EventKind::kLockAcquire:
        return acquire(event);
      case EventKind::kLockRelease:
        return release(event);
      case EventKind::kCondWaitBegin:
        return wait_begin(event);
      case EventKind::kCondWaitEnd:
        held_[event.thread][event.extent] = {1, LockMode::kExclusive};
        return add(event);
      case EventKind::kAlloc:
        if (event.extent == 0) return;
        blocks_[event.object] = event.extent;
        return add(event);
      case EventKind::kFree:
        return free(event);
      case EventKind::kFork:
        forked_.emplace(ThreadId{static_cast<std::uint32_t>(event.object)}, true);
        return add(event);
      case EventKind::kJoin:
        if (joined_.emplace(event.other_thread(), true).second && begun_.contains(event.other_thread()) &&
            event.other_thread() != event.thread) {
          add(event);
        }
        return;
      case EventKind::kThreadExit:
        if (is_left_out(ordered)) add(events::on_sync(EventKind::kHappensBefore, event.thread, kOpaqueTag));
        held_.erase(event.thread);
        ended_.emplace(event.thread, true);
        return add(event);
      case EventKind::kSyncDestroy:
        return;  // the same address later is the same object: that orders more, never less
      case EventKind::kHappensBefore:
        add(event);
        if (event.sync() == kEverybodyTag) tell_everybody(event.thread);
        return;
      default:
        return add(event);
    }
  }

  void tell_everybody(ThreadId teller) {
    has_everybody_ = true;
    for (const auto& [other, is_live] : begun_) {
      if (other != teller && !ended_.contains(other)) {
        add(events::on_sync(EventKind::kHappensAfter, other, kEverybodyTag));
      }
    }
  }

  void acquire(Event event) {
    Held& held = held_[event.thread][event.object];
    if (held.depth == 0) held.mode = event.lock_mode();
    event.depth = ++held.depth;
    event.detail = lock_detail(held.mode, event.lock_attempt());
    add(event);
  }

  // An rwlock does not tell how it was held, and a wait that was cancelled does not tell that it has
  // its mutex again.
  void release(Event event) {
    Held& held = held_[event.thread][event.object];
    if (held.depth == 0) {
      held = {1, LockMode::kExclusive};
      add(events::acquire(event.thread, event.sync()));
    }
    event.depth = held.depth--;
    event.detail = lock_detail(held.mode);
    add(event);
  }

  void wait_begin(Event event) {
    Held& held = held_[event.thread][event.extent];
    if (held.depth == 0) add(events::acquire(event.thread, event.mutex()));
    held.depth = 0;
    add(event);
  }

  // Blocks are freed by their address alone.
  void free(Event event) {
    if (event.extent == 0) {
      const auto block = blocks_.find(event.object);
      if (block == blocks_.end()) return;
      event.extent = block->second;
      blocks_.erase(block);
    }
    add(event);
  }

  std::span<const OrderedThread> threads_;
  const SiteOfCode& site_of_;
  std::vector<Event> events_;
  std::map<ThreadId, bool> begun_;
  std::map<ThreadId, bool> ended_;
  std::map<ThreadId, bool> forked_;
  std::map<ThreadId, bool> joined_;
  std::map<ThreadId, std::unordered_map<std::uint64_t, Held>> held_;
  std::unordered_map<std::uint64_t, std::uint64_t> blocks_;
  bool has_everybody_ = false;
};

}  // namespace

std::vector<Event> order_recording(std::span<const OrderedThread> threads, const SiteOfCode& site_of) {
  return Ordering(threads, site_of).run();
}

}  // namespace deadheat
