// SPDX-License-Identifier: Apache-2.0
#include "support/shrink.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "trace/trace_checker.h"

namespace deadheat {

namespace {

bool is_well_formed(std::span<const Event> trace) {
  TraceChecker checker;
  return checker.check(trace).ok() && checker.finish().ok();
}

bool names_thread(const Event& event, ThreadId thread) {
  return event.thread == thread ||
         (info(event.kind).object == ObjectMeaning::kThread && event.other_thread() == thread);
}

bool names_sync(const Event& event, SyncId sync) {
  if (info(event.kind).object == ObjectMeaning::kSync && event.sync() == sync) return true;
  return info(event.kind).extent == ExtentMeaning::kMutex && event.mutex() == sync;
}

// The kind that ends what this kind begins.
std::optional<EventKind> closing_kind(EventKind kind) {
  switch (kind) {
    case EventKind::kLockAcquire:
      return EventKind::kLockRelease;
    case EventKind::kCondWaitBegin:
      return EventKind::kCondWaitEnd;
    case EventKind::kBarrierArrive:
      return EventKind::kBarrierLeave;
    case EventKind::kAlloc:
      return EventKind::kFree;
    case EventKind::kFunctionEnter:
      return EventKind::kFunctionExit;
    case EventKind::kSamplingBegin:
      return EventKind::kSamplingEnd;
    case EventKind::kIgnoreBegin:
      return EventKind::kIgnoreEnd;
    default:
      return std::nullopt;
  }
}

// Whether `end` can be what closes `begin`. Nesting is left to the checker.
bool closes(const Event& begin, const Event& end) {
  if (end.kind != closing_kind(begin.kind)) return false;
  const bool same_thread = begin.thread == end.thread || begin.kind == EventKind::kAlloc;
  return same_thread && begin.object == end.object && begin.extent == end.extent && begin.depth == end.depth;
}

class Shrinker {
 public:
  Shrinker(std::vector<Event> trace, const StillFails& still_fails, ShrinkBudget budget)
      : trace_(std::move(trace)), still_fails_(still_fails), calls_left_(budget.predicate_calls) {}

  std::vector<Event> run() {
    bool progress = true;
    while (progress && calls_left_ > 0) {
      progress = drop_threads();
      progress |= drop_objects();
      progress |= drop_pairs();
      progress |= drop_chunks();
      progress |= merge_threads();
      progress |= simplify_events();
    }
    return std::move(trace_);
  }

 private:
  bool accept(std::vector<Event> candidate) {
    if (calls_left_ == 0 || candidate == trace_ || !is_well_formed(candidate)) return false;
    --calls_left_;
    if (!still_fails_(candidate)) return false;
    trace_ = std::move(candidate);
    return true;
  }

  template <class Predicate>
  bool drop_if(Predicate drop) {
    std::vector<Event> candidate = trace_;
    if (std::erase_if(candidate, drop) == 0) return false;
    return accept(std::move(candidate));
  }

  [[nodiscard]] std::set<ThreadId> threads() const {
    std::set<ThreadId> all;
    for (const Event& event : trace_) all.insert(event.thread);
    return all;
  }

  bool drop_threads() {
    bool progress = false;
    for (const ThreadId thread : threads()) {
      progress |= drop_if([thread](const Event& event) { return names_thread(event, thread); });
    }
    return progress;
  }

  bool drop_objects() {
    std::set<SyncId> objects;
    for (const Event& event : trace_) {
      if (info(event.kind).object == ObjectMeaning::kSync) objects.insert(event.sync());
    }
    bool progress = false;
    for (const SyncId object : objects) {
      progress |= drop_if([object](const Event& event) { return names_sync(event, object); });
    }
    return progress;
  }

  bool drop_pairs() {
    bool progress = false;
    for (std::size_t i = 0; i < trace_.size(); ++i) {
      if (!closing_kind(trace_[i].kind)) continue;
      for (std::size_t j = i + 1; j < trace_.size(); ++j) {
        if (!closes(trace_[i], trace_[j])) continue;
        std::vector<Event> candidate = trace_;
        candidate.erase(candidate.begin() + static_cast<std::ptrdiff_t>(j));
        candidate.erase(candidate.begin() + static_cast<std::ptrdiff_t>(i));
        if (!accept(std::move(candidate))) continue;
        progress = true;
        --i;  // another event has taken the place
        break;
      }
    }
    return progress;
  }

  bool drop_chunks() {
    bool progress = false;
    for (std::size_t length = std::max<std::size_t>(trace_.size() / 2, 1); length > 0; length /= 2) {
      // From the end: what comes later depends on what comes earlier.
      for (std::size_t end = trace_.size(); end > 0;) {
        const std::size_t begin = end > length ? end - length : 0;
        std::vector<Event> candidate = trace_;
        candidate.erase(candidate.begin() + static_cast<std::ptrdiff_t>(begin),
                        candidate.begin() + static_cast<std::ptrdiff_t>(end));
        progress |= accept(std::move(candidate));
        end = begin;
      }
    }
    return progress;
  }

  // One thread does the work of two; what they said about each other goes.
  bool merge_threads() {
    bool progress = false;
    const std::set<ThreadId> all = threads();
    for (const ThreadId gone : all) {
      for (const ThreadId heir : all) {
        if (heir == gone) break;  // the lower number stays
        std::vector<Event> candidate = trace_;
        std::erase_if(candidate, [gone, heir](const Event& event) {
          const bool about_thread = info(event.kind).object == ObjectMeaning::kThread;
          if (about_thread && event.other_thread() == gone) return true;
          if (event.thread != gone) return false;
          return event.kind == EventKind::kThreadRoot || event.kind == EventKind::kThreadExit ||
                 (about_thread && event.other_thread() == heir);
        });
        for (Event& event : candidate) {
          if (event.thread == gone) event.thread = heir;
        }
        progress |= accept(std::move(candidate));
      }
    }
    return progress;
  }

  bool simplify(std::size_t index, const Event& simpler) {
    if (trace_[index] == simpler) return false;
    std::vector<Event> candidate = trace_;
    candidate[index] = simpler;
    return accept(std::move(candidate));
  }

  bool simplify_events() {
    bool progress = false;
    for (std::size_t i = 0; i < trace_.size(); ++i) {
      Event event = trace_[i];
      event.site = SiteId::kUnknown;
      progress |= simplify(i, event);
      event = trace_[i];
      if (info(event.kind).detail == DetailMeaning::kFlavour || info(event.kind).detail == DetailMeaning::kOrder) {
        event.detail = 0;
        progress |= simplify(i, event);
      }
      progress |= simplify_size(i);
    }
    return progress;
  }

  bool simplify_size(std::size_t index) {
    if (info(trace_[index].kind).extent != ExtentMeaning::kSize) return false;
    for (const std::uint64_t size : {1, 2, 4, 8}) {
      if (size >= trace_[index].extent) return false;
      Event event = trace_[index];
      event.extent = size;
      if (simplify(index, event)) return true;
    }
    return false;
  }

  std::vector<Event> trace_;
  const StillFails& still_fails_;
  std::size_t calls_left_;
};

}  // namespace

std::vector<Event> shrink(std::vector<Event> trace, const StillFails& still_fails, ShrinkBudget budget) {
  return Shrinker(std::move(trace), still_fails, budget).run();
}

}  // namespace deadheat
