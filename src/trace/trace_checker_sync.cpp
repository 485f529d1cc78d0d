// SPDX-License-Identifier: Apache-2.0
// The checker's rules for barriers and once flags, and for the end of any
// synchronisation object.
#include <fmt/format.h>

#include <algorithm>

#include "trace/trace_checker.h"

namespace deadheat {

std::string TraceChecker::barrier_arrive(const Event& event) {
  BarrierState& barrier = barriers_[raw(event.sync())];
  const std::uint64_t phase = event.phase();
  if (barrier.newest_arrived && phase < *barrier.newest_arrived) {
    return fmt::format("arrives at phase {} of barrier {} after an arrival at phase {}", phase, name(event.sync()),
                       *barrier.newest_arrived);
  }
  if (barrier.newest_left && phase <= *barrier.newest_left) {
    return fmt::format("arrives at phase {} of barrier {} after phase {} was left", phase, name(event.sync()),
                       *barrier.newest_left);
  }
  barrier.newest_arrived = phase;
  Arrival& arrival = barrier.arrivals[raw(event.thread)];
  if (arrival.phase != phase || arrival.life != barrier.life) arrival = {phase, 0, barrier.life};
  ++arrival.count;
  return {};
}

std::string TraceChecker::barrier_leave(const Event& event) {
  BarrierState& barrier = barriers_[raw(event.sync())];
  const std::uint64_t phase = event.phase();
  const auto found = barrier.arrivals.find(raw(event.thread));
  if (found == barrier.arrivals.end() || found->second.phase != phase) {
    return fmt::format("leaves phase {} of barrier {} without having arrived at it", phase, name(event.sync()));
  }
  Arrival& arrival = found->second;
  if (arrival.life == barrier.life) {
    // The newest arrival is at this phase or later, so the difference is not negative.
    if (*barrier.newest_arrived - phase > 1) {
      return fmt::format("leaves phase {} of barrier {} after an arrival at phase {}", phase, name(event.sync()),
                         *barrier.newest_arrived);
    }
    barrier.newest_left = std::max(barrier.newest_left.value_or(0), phase);
  }
  if (--arrival.count == 0) barrier.arrivals.erase(found);
  return {};
}

std::string TraceChecker::once_complete(const Event& event) {
  if (!once_flags_.insert(raw(event.sync())).second) {
    return fmt::format("completes once object {} a second time", name(event.sync()));
  }
  return {};
}

std::string TraceChecker::once_observe(const Event& event) {
  if (!once_flags_.contains(raw(event.sync()))) {
    return fmt::format("observes once object {} before its completion", name(event.sync()));
  }
  return {};
}

std::string TraceChecker::destroy(const Event& event) {
  const std::uint64_t number = raw(event.sync());
  if (const auto lock = locks_.find(number); lock != locks_.end()) {
    drop_dead_holders(lock->second);
    if (!lock->second.holders.empty()) {
      return fmt::format("destroys lock {} while {} holds it", name(event.sync()),
                         name(lock->second.holders.front().thread));
    }
    locks_.erase(lock);
  }
  if (const auto barrier = barriers_.find(number); barrier != barriers_.end()) {
    if (barrier->second.arrivals.empty()) {
      barriers_.erase(barrier);
    } else {
      ++barrier->second.life;
      barrier->second.newest_arrived.reset();
      barrier->second.newest_left.reset();
    }
  }
  once_flags_.erase(number);
  return {};
}

}  // namespace deadheat
