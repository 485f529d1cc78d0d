// SPDX-License-Identifier: Apache-2.0
// Dispatch of the checker, and the events by which a thread speaks of itself
// alone: calls, sampling periods, ignore regions.
#include "trace/trace_checker.h"

#include <fmt/format.h>

namespace deadheat {

Status TraceChecker::check_other(const Event& event) {
  if (failure_) return *failure_;
  std::string problem = begin_if_first(event);
  if (problem.empty()) problem = apply(event);
  if (problem.empty()) {
    ++event_count_;
    return {};
  }
  failure_ = Error{ErrorCode::kInvalid, fmt::format("event {}: {} {}", event_count_, name(event.thread), problem)};
  activities_.clear();
  return *failure_;
}

std::string TraceChecker::begin_if_first(const Event& event) {
  if (raw(event.thread) >= kThreadLimit) return fmt::format("has a number that is not below {}", kThreadLimit);
  switch (activity(event.thread)) {
    case Activity::kRunning:
      return {};
    case Activity::kForked:
      if (event.kind != EventKind::kThreadRoot) set_activity(event.thread, Activity::kRunning);
      return {};
    case Activity::kUnknown:
      if (event.kind == EventKind::kThreadRoot) return {};
      if (event_count_ != 0) return "has an event before anything forked it and without a root event";
      set_activity(event.thread, Activity::kRunning);
      return {};
    case Activity::kWaiting: {
      if (event.kind == EventKind::kCondWaitEnd) return {};
      const ThreadState& self = state(event.thread);
      return fmt::format("has an event of kind '{}' while it waits on condition {}", info(event.kind).word,
                         name(self.wait_condition));
    }
    case Activity::kExited:
      return "has an event after its exit";
    case Activity::kJoined:
      return "has an event after it was joined";
  }
  return {};
}

std::string TraceChecker::apply(const Event& event) {
  switch (event.kind) {
    case EventKind::kThreadRoot:
      return thread_root(event);
    case EventKind::kFork:
      return thread_fork(event);
    case EventKind::kJoin:
      return thread_join(event);
    case EventKind::kDetach:
      return thread_detach(event);
    case EventKind::kThreadExit:
      return thread_exit(event);
    case EventKind::kLockAcquire:
      return lock_acquire(event);
    case EventKind::kLockRelease:
      return lock_release(event);
    case EventKind::kCondWaitBegin:
      return wait_begin(event);
    case EventKind::kCondWaitEnd:
      return wait_end(event);
    case EventKind::kBarrierArrive:
      return barrier_arrive(event);
    case EventKind::kBarrierLeave:
      return barrier_leave(event);
    case EventKind::kOnceComplete:
      return once_complete(event);
    case EventKind::kOnceObserve:
      return once_observe(event);
    case EventKind::kSyncDestroy:
      return destroy(event);
    case EventKind::kAlloc:
      return allocate(event);
    case EventKind::kFree:
      return free_memory(event);
    case EventKind::kFunctionEnter:
      ++state(event.thread).open_calls;
      return {};
    case EventKind::kFunctionExit:
      return function_exit(event);
    case EventKind::kSamplingBegin:
    case EventKind::kSamplingEnd:
      return sampling(event);
    case EventKind::kIgnoreBegin:
      return ignore_begin(event);
    case EventKind::kIgnoreEnd:
      return ignore_end(event);
    case EventKind::kRead:
    case EventKind::kWrite:
    case EventKind::kAtomicLoad:
    case EventKind::kAtomicStore:
    case EventKind::kAtomicRmw:
    case EventKind::kFence:
    case EventKind::kLockTryFailed:
    case EventKind::kCondSignal:
    case EventKind::kCondBroadcast:
    case EventKind::kSemaphorePost:
    case EventKind::kSemaphoreWait:
    case EventKind::kHappensBefore:
    case EventKind::kHappensAfter:
    case EventKind::kBenignRange:
      return {};
  }
  return fmt::format("has an event of unknown kind {}", raw(event.kind));
}

std::string TraceChecker::function_exit(const Event& event) {
  ThreadState& self = state(event.thread);
  if (self.open_calls == 0) return "leaves a function without having entered one";
  --self.open_calls;
  return {};
}

std::string TraceChecker::sampling(const Event& event) {
  ThreadState& self = state(event.thread);
  const bool begins = event.kind == EventKind::kSamplingBegin;
  if (begins && self.sampling) return "begins a sampling period inside another";
  if (!begins && !self.sampling) return "ends a sampling period that it has not begun";
  self.sampling = begins;
  return {};
}

std::string TraceChecker::ignore_begin(const Event& event) {
  ThreadState& self = state(event.thread);
  if (includes(event.ignored(), Ignore::kReads)) ++self.ignored_reads;
  if (includes(event.ignored(), Ignore::kWrites)) ++self.ignored_writes;
  if (includes(event.ignored(), Ignore::kSync)) ++self.ignored_sync;
  return {};
}

std::string TraceChecker::ignore_end(const Event& event) {
  ThreadState& self = state(event.thread);
  const auto end = [&event](Ignore part, std::uint64_t& count, std::string_view what) -> std::string {
    if (!includes(event.ignored(), part)) return {};
    if (count == 0) return fmt::format("stops ignoring {} without having begun to", what);
    --count;
    return {};
  };
  if (std::string problem = end(Ignore::kReads, self.ignored_reads, "reads"); !problem.empty()) return problem;
  if (std::string problem = end(Ignore::kWrites, self.ignored_writes, "writes"); !problem.empty()) return problem;
  return end(Ignore::kSync, self.ignored_sync, "synchronisation");
}

TraceChecker::Activity TraceChecker::activity(ThreadId thread) const {
  return raw(thread) < activities_.size() ? activities_[raw(thread)] : Activity::kUnknown;
}

void TraceChecker::set_activity(ThreadId thread, Activity activity) {
  if (raw(thread) >= activities_.size()) activities_.resize(raw(thread) + 1, Activity::kUnknown);
  activities_[raw(thread)] = activity;
}

TraceChecker::ThreadState& TraceChecker::state(ThreadId thread) { return threads_[raw(thread)]; }

bool TraceChecker::is_alive(ThreadId thread) const {
  const Activity now = activity(thread);
  return now != Activity::kExited && now != Activity::kJoined;
}

std::string TraceChecker::name(ThreadId thread) const {
  if (names_ != nullptr) {
    if (const auto found = names_->threads.find(thread); found != names_->threads.end()) {
      return fmt::format("thread {} ({})", raw(thread), found->second);
    }
  }
  return fmt::format("thread {}", raw(thread));
}

std::string TraceChecker::name(SyncId object) const {
  if (names_ != nullptr) {
    if (const auto found = names_->syncs.find(object); found != names_->syncs.end()) return found->second;
  }
  return fmt::format("{:#x}", raw(object));
}

std::string TraceChecker::range(Address begin, std::uint64_t size) {
  return fmt::format("{} byte{} at {:#x}", size, size == 1 ? "" : "s", begin);
}

}  // namespace deadheat
