// SPDX-License-Identifier: Apache-2.0
#include "support/order_oracle.h"

#include <algorithm>
#include <map>

#include "core/ignore_state.h"

namespace deadheat {

namespace {

void update(std::vector<SiteId>& calls, std::vector<HeldLock>& locks, const Event& event) {
  const HeldLock lock{event.sync(), event.lock_mode()};
  const HeldLock mutex{event.mutex(), LockMode::kExclusive};
  if (event.kind == EventKind::kFunctionEnter) calls.push_back(event.site);
  if (event.kind == EventKind::kFunctionExit) calls.pop_back();
  if (event.kind == EventKind::kLockAcquire && event.is_outermost()) locks.push_back(lock);
  if (event.kind == EventKind::kLockRelease && event.is_outermost()) std::erase(locks, lock);
  if (event.kind == EventKind::kCondWaitBegin) std::erase(locks, mutex);
  if (event.kind == EventKind::kCondWaitEnd) locks.push_back(mutex);
}

}  // namespace

OrderOracle::OrderOracle(std::span<const Event> trace, ReleaseSequences release_sequences) : trace_(trace) {
  struct Thread {
    std::vector<SiteId> calls;
    std::vector<HeldLock> locks;
    IgnoreState ignore;
  };
  ReferenceOrder order(release_sequences);
  std::map<ThreadId, Thread> threads;
  for (const Event& event : trace) {
    Thread& self = threads[event.thread];
    if (event.kind == EventKind::kIgnoreBegin) self.ignore.begin(event.ignored());
    if (event.kind == EventKind::kIgnoreEnd) self.ignore.end(event.ignored());
    update(self.calls, self.locks, event);
    const bool synchronises = !self.ignore.ignores_sync() || is_thread_event(event.kind);
    const Event silent = events::plain(EventKind::kSamplingBegin, event.thread);
    moments_.push_back({order.before(synchronises ? event : silent), self.calls, self.locks});
    if (event.kind == EventKind::kThreadExit && !self.ignore.ignores_sync()) {
      for (const HeldLock& held : self.locks) order.after(events::release(event.thread, held.lock, held.mode));
    }
    if (synchronises) order.after(event);
    if (event.kind == EventKind::kAlloc) order.forget_atomics(event.address(), event.size());
  }
}

std::string OrderOracle::refute_side(const RacingAccess& access, std::uint64_t index) const {
  if (index >= trace_.size()) return "no such event";
  const Event& event = trace_[index];
  if (event.thread != access.thread) return "wrong thread";
  if (access_kind(event.kind) != access.kind) return "wrong access kind";
  if (access.size != 0 && access.size != event.size()) return "wrong size";
  if (moments_[index].calls != access.stack) return "wrong stack";
  if (moments_[index].locks != access.locks) return "wrong locks";
  return {};
}

std::string OrderOracle::refute(const Finding& finding) const {
  const std::uint64_t earlier = event_of_site(finding.earlier.site);
  const std::uint64_t later = event_of_site(finding.later.site);
  if (std::string wrong = refute_side(finding.earlier, earlier); !wrong.empty()) return "earlier access: " + wrong;
  if (std::string wrong = refute_side(finding.later, later); !wrong.empty()) return "later access: " + wrong;
  if (earlier >= later) return "the earlier access is not earlier";
  if (later != finding.event_index) return "event_index is not the later access";
  if (trace_[earlier].thread == trace_[later].thread) return "both accesses are one thread's";
  if (!conflict(finding.earlier.kind, finding.later.kind)) return "the kinds do not conflict";
  if (finding.kind != race_kind(finding.earlier.kind, finding.later.kind)) return "wrong race kind";
  for (const std::uint64_t index : {earlier, later}) {
    const Event& event = trace_[index];
    const bool contains = finding.address >= event.address() && finding.size <= event.size() &&
                          finding.address - event.address() <= event.size() - finding.size;
    if (finding.size == 0 || !contains) return "the bytes are not common to both accesses";
  }
  const ReferenceOrder::Clock& seen = moments_[later].seen;
  const auto known = seen.find(trace_[earlier].thread);
  const std::uint64_t when = moments_[earlier].seen.at(trace_[earlier].thread);
  if (known != seen.end() && known->second >= when) return "the accesses are ordered";
  return {};
}

}  // namespace deadheat
