// SPDX-License-Identifier: Apache-2.0
// The checker's rules for the life of threads.
#include <fmt/format.h>

#include "trace/trace_checker.h"

namespace deadheat {

std::string TraceChecker::thread_root(const Event& event) {
  if (activity(event.thread) == Activity::kForked) return "calls itself a root although it was forked";
  if (activity(event.thread) != Activity::kUnknown) return "calls itself a root although it already runs";
  set_activity(event.thread, Activity::kRunning);
  return {};
}

std::string TraceChecker::thread_fork(const Event& event) {
  const ThreadId child = event.other_thread();
  if (event.object >= kThreadLimit) return fmt::format("forks thread {}, not below {}", event.object, kThreadLimit);
  if (child == event.thread) return "forks itself";
  if (activity(child) != Activity::kUnknown) return fmt::format("forks {}, which exists already", name(child));
  set_activity(child, Activity::kForked);
  return {};
}

std::string TraceChecker::thread_join(const Event& event) {
  const ThreadId other = event.other_thread();
  if (other == event.thread) return "joins itself";
  if (event.object >= kThreadLimit || activity(other) == Activity::kUnknown) {
    return fmt::format("joins {}, which has not been forked", name(other));
  }
  if (activity(other) == Activity::kJoined) return fmt::format("joins {}, which was joined before", name(other));
  if (activity(other) == Activity::kWaiting) return fmt::format("joins {}, which is in a wait", name(other));
  if (state(other).detached) return fmt::format("joins {}, which is detached", name(other));
  set_activity(other, Activity::kJoined);
  return {};
}

std::string TraceChecker::thread_detach(const Event& event) {
  const ThreadId other = event.other_thread();
  if (event.object >= kThreadLimit || activity(other) == Activity::kUnknown) {
    return fmt::format("detaches {}, which has not been forked", name(other));
  }
  if (activity(other) == Activity::kJoined) return fmt::format("detaches {}, which was joined before", name(other));
  ThreadState& target = state(other);
  if (target.detached) return fmt::format("detaches {}, which is detached already", name(other));
  target.detached = true;
  return {};
}

std::string TraceChecker::thread_exit(const Event& event) {
  set_activity(event.thread, Activity::kExited);
  return {};
}

}  // namespace deadheat
