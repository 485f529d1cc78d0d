// SPDX-License-Identifier: Apache-2.0
#include "support/shortest_races.h"

#include <map>
#include <optional>

#include "core/ignore_state.h"
#include "core/reference_order.h"
#include "model/finding.h"

namespace deadheat {

namespace {

struct Thread {
  std::vector<HeldLock> locks;
  IgnoreState ignore;
  bool is_sampling = false;
};

void track(Thread& self, const Event& event) {
  if (event.kind == EventKind::kIgnoreBegin) self.ignore.begin(event.ignored());
  if (event.kind == EventKind::kIgnoreEnd) self.ignore.end(event.ignored());
  if (event.kind == EventKind::kSamplingBegin) self.is_sampling = true;
  if (event.kind == EventKind::kSamplingEnd) self.is_sampling = false;
  const HeldLock lock{event.sync(), event.lock_mode()};
  const HeldLock mutex{event.mutex(), LockMode::kExclusive};
  if (event.kind == EventKind::kLockAcquire && event.is_outermost()) self.locks.push_back(lock);
  if (event.kind == EventKind::kLockRelease && event.is_outermost()) std::erase(self.locks, lock);
  if (event.kind == EventKind::kCondWaitBegin) std::erase(self.locks, mutex);
  if (event.kind == EventKind::kCondWaitEnd) self.locks.push_back(mutex);
}

struct Access {
  ThreadId thread{};
  std::uint64_t clock = 0;
  AccessKind kind = AccessKind::kRead;
  bool is_sampled = false;
};

// The last of the accesses that races with `now`, or nullptr.
const Access* last_racing(const std::vector<Access>& earlier, const Access& now, const ReferenceOrder::Clock& seen) {
  for (auto at = earlier.rbegin(); at != earlier.rend(); ++at) {
    if (at->thread == now.thread || !conflict(at->kind, now.kind)) continue;
    const auto known = seen.find(at->thread);
    if (known == seen.end() || known->second < at->clock) return &*at;
  }
  return nullptr;
}

}  // namespace

ShortestRaces::ShortestRaces(std::span<const Event> trace, ReleaseSequences release_sequences)
    : sampled_(trace.size()) {
  ReferenceOrder order(release_sequences);
  std::map<ThreadId, Thread> threads;
  std::map<Address, std::vector<Access>> bytes;
  std::set<Address> benign;
  for (std::uint64_t index = 0; index < trace.size(); ++index) {
    const Event& event = trace[index];
    Thread& self = threads[event.thread];
    track(self, event);
    const bool synchronises = !self.ignore.ignores_sync() || is_thread_event(event.kind);
    const ReferenceOrder::Clock& seen =
        order.before(synchronises ? event : events::plain(EventKind::kFunctionExit, event.thread));
    const std::optional<AccessKind> kind = access_kind(event.kind);
    if (kind && !self.ignore.ignores(*kind)) {
      const Access now{event.thread, seen.at(event.thread), *kind, self.is_sampling};
      for (Address byte = event.address(); byte < event.address() + event.size(); ++byte) {
        std::vector<Access>& earlier = bytes[byte];
        const Access* const other = benign.contains(byte) ? nullptr : last_racing(earlier, now, seen);
        if (other != nullptr) racy_.insert(byte);
        if (other != nullptr && other->is_sampled) sampled_[index].push_back(byte);
        earlier.push_back(now);
      }
    }
    if (event.kind == EventKind::kThreadExit && !self.ignore.ignores_sync()) {
      for (const HeldLock& held : self.locks) order.after(events::release(event.thread, held.lock, held.mode));
    }
    if (synchronises) order.after(event);
    if (event.kind != EventKind::kAlloc && event.kind != EventKind::kBenignRange) continue;
    const bool is_new_memory = event.kind == EventKind::kAlloc;
    if (is_new_memory) order.forget_atomics(event.address(), event.size());
    for (Address byte = event.address(); byte < event.address() + event.size(); ++byte) {
      if (is_new_memory) {
        bytes.erase(byte);
        benign.erase(byte);
      } else {
        benign.insert(byte);
      }
    }
  }
}

}  // namespace deadheat
