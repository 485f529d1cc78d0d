// SPDX-License-Identifier: Apache-2.0
#include "core/reference_detector.h"

#include <algorithm>
#include <optional>

namespace deadheat {

void ReferenceDetector::process(std::span<const Event> events) {
  for (const Event& event : events) {
    step(event);
    ++event_index_;
  }
}

void ReferenceDetector::step(const Event& event) {
  Thread& self = threads_[event.thread];
  track(self, event);
  const bool synchronises = !self.ignore.ignores_sync() || is_thread_event(event.kind);
  // An event that orders nothing stands in for one whose synchronisation is
  // ignored.
  const ReferenceOrder::Clock& seen =
      order_.before(synchronises ? event : events::plain(EventKind::kSamplingBegin, event.thread));
  if (const std::optional<AccessKind> kind = access_kind(event.kind)) {
    if (!self.ignore.ignores(*kind)) access(self, event, *kind, seen);
  }
  if (event.kind == EventKind::kThreadExit && !self.ignore.ignores_sync()) {
    for (const HeldLock& held : self.locks) order_.after(events::release(event.thread, held.lock, held.mode));
  }
  if (synchronises) order_.after(event);
  if (event.kind == EventKind::kAlloc) forget(event.address(), event.size());
  if (event.kind == EventKind::kBenignRange) {
    for (std::uint64_t offset = 0; offset < event.size(); ++offset) benign_.insert(event.address() + offset);
  }
}

void ReferenceDetector::track(Thread& self, const Event& event) {
  switch (event.kind) {
    case EventKind::kFunctionEnter:
      return enter(self, event.site);
    case EventKind::kFunctionExit:
      self.calls = calls_[self.calls].outer;
      return;
    case EventKind::kIgnoreBegin:
      return self.ignore.begin(event.ignored());
    case EventKind::kIgnoreEnd:
      return self.ignore.end(event.ignored());
    case EventKind::kLockAcquire:
      if (event.is_outermost()) self.locks.push_back(HeldLock{event.sync(), event.lock_mode()});
      return;
    case EventKind::kLockRelease:
      if (event.is_outermost()) std::erase(self.locks, HeldLock{event.sync(), event.lock_mode()});
      return;
    case EventKind::kCondWaitBegin:
      std::erase(self.locks, HeldLock{event.mutex(), LockMode::kExclusive});
      return;
    case EventKind::kCondWaitEnd:
      return self.locks.push_back(HeldLock{event.mutex(), LockMode::kExclusive});
    default:
      return;
  }
}

void ReferenceDetector::enter(Thread& self, SiteId site) {
  const Call call{site, self.calls};
  const auto [known, is_new] = call_numbers_.try_emplace(call, calls_.size());
  if (is_new) calls_.push_back(call);
  self.calls = known->second;
}

void ReferenceDetector::access(const Thread& self, const Event& event, AccessKind kind,
                               const ReferenceOrder::Clock& seen) {
  PastAccess now;
  now.access.thread = event.thread;
  now.access.clock = seen.at(event.thread);
  now.access.kind = kind;
  now.access.size = event.size();
  now.access.site = event.site;
  now.access.locks = self.locks;
  now.calls = self.calls;
  const auto shared = std::make_shared<const PastAccess>(std::move(now));

  for (std::uint64_t offset = 0; offset < event.size(); ++offset) {
    const Address byte = event.address() + offset;
    ByteHistory& history = bytes_[byte];
    ++byte_checks_;
    for (const auto& [who, past] : history) {
      if (who.first == event.thread || !conflict(past->access.kind, kind)) continue;
      const auto known = seen.find(who.first);
      if (known == seen.end() || known->second < past->access.clock) report(*past, *shared, byte);
    }
    history[Who{event.thread, kind}] = shared;
  }
}

RacingAccess ReferenceDetector::with_stack(const PastAccess& past) const {
  RacingAccess result = past.access;
  for (std::size_t call = past.calls; call != 0; call = calls_[call].outer) result.stack.push_back(calls_[call].site);
  std::reverse(result.stack.begin(), result.stack.end());
  return result;
}

void ReferenceDetector::report(const PastAccess& earlier_one, const PastAccess& later_one, Address byte) {
  if (benign_.contains(byte)) return;
  const RacingAccess& earlier = earlier_one.access;
  const RacingAccess& later = later_one.access;
  racy_.insert(byte);
  const bool has_sites = earlier.site != SiteId::kUnknown && later.site != SiteId::kUnknown;
  const Pair pair{earlier.kind, earlier.site, later.kind, later.site, has_sites ? 0 : byte};
  if (!has_sites && continues_newest(earlier, later, byte)) numbers_.try_emplace(pair, findings_.size() - 1);
  const auto [at, is_new] = numbers_.try_emplace(pair, findings_.size());
  if (is_new) {
    findings_.push_back(Finding{race_kind(earlier.kind, later.kind), with_stack(earlier_one), with_stack(later_one),
                                byte, 1, event_index_, 1});
    last_event_.push_back(event_index_);
    return;
  }
  Finding& finding = findings_[at->second];
  if (last_event_[at->second] != event_index_) {
    ++finding.occurrences;
    last_event_[at->second] = event_index_;
  } else if (finding.event_index == event_index_ && finding.address + finding.size == byte) {
    ++finding.size;
  }
}

// The newest finding is this very race, up to the byte before.
bool ReferenceDetector::continues_newest(const RacingAccess& earlier, const RacingAccess& later, Address byte) const {
  if (findings_.empty()) return false;
  const Finding& newest = findings_.back();
  return newest.event_index == event_index_ && newest.address + newest.size == byte &&
         newest.earlier.thread == earlier.thread && newest.earlier.kind == earlier.kind &&
         newest.earlier.site == earlier.site && newest.earlier.clock == earlier.clock &&
         newest.later.kind == later.kind;
}

void ReferenceDetector::forget(Address address, std::uint64_t size) {
  if (size == 0) return;
  const auto erase_from = [&](auto& container) {
    auto begin = container.lower_bound(address);
    auto end = address + (size - 1) < address ? container.end() : container.upper_bound(address + (size - 1));
    container.erase(begin, end);
  };
  erase_from(bytes_);
  erase_from(benign_);
  order_.forget_atomics(address, size);
}

std::vector<Detector::Range> ReferenceDetector::racy_bytes() const {
  std::vector<Range> result;
  for (const Address byte : racy_) {
    if (!result.empty() && result.back().end == byte) {
      ++result.back().end;
    } else {
      result.push_back(Range{byte, byte + 1});
    }
  }
  return result;
}

}  // namespace deadheat
