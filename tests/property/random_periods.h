// SPDX-License-Identifier: Apache-2.0
// Sampling periods written into a trace: each thread begins and ends its own, and
// the moments are chosen where they can do harm.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/random.h"
#include "model/event.h"
#include "model/finding.h"

namespace deadheat {

inline bool is_sampling_event(const Event& event) {
  return event.kind == EventKind::kSamplingBegin || event.kind == EventKind::kSamplingEnd;
}

// An event at which a thread may notice that a period has begun or ended: not its
// first as a root, nor while it waits.
inline bool may_change_period(const Event& event) {
  return event.kind != EventKind::kThreadRoot && event.kind != EventKind::kCondWaitEnd;
}

enum class PeriodStyle : std::uint8_t {
  kAnywhere,    // each thread changes with a certain probability per event
  kAtSync,      // mostly right before or after synchronisation
  kGlobal,      // a period opens and closes for all; each follows at its next event
  kOneSampler,  // one thread samples at all
};
inline constexpr std::uint64_t kPeriodStyles = 4;

inline std::vector<Event> with_periods(std::span<const Event> events, std::uint64_t seed) {
  Random random(seed * 0x9e6c63d0876a3f6bULL + 1);
  const auto style = PeriodStyle{static_cast<std::uint8_t>(random.below(kPeriodStyles))};
  constexpr double kChances[] = {0.03, 0.1, 0.25, 0.5};
  const double chance = kChances[random.below(4)];
  const ThreadId only{static_cast<std::uint32_t>(random.below(4))};
  std::map<ThreadId, bool> is_sampling;
  std::map<ThreadId, bool> was_access;
  bool is_open = random.chance(0.5);

  std::vector<Event> trace;
  for (const Event& event : events) {
    if (is_sampling_event(event)) continue;
    const bool is_access = access_kind(event.kind).has_value();
    const bool is_at_sync = !is_access || !was_access[event.thread];
    was_access[event.thread] = is_access;
    if (random.chance(chance / 4)) is_open = !is_open;
    bool& state = is_sampling[event.thread];
    bool shall_sample = state;
    if (style == PeriodStyle::kGlobal) {
      shall_sample = is_open;
    } else if (random.chance(style == PeriodStyle::kAtSync && !is_at_sync ? chance / 8 : chance)) {
      shall_sample = !state && (style != PeriodStyle::kOneSampler || event.thread == only);
    }
    if (shall_sample != state && may_change_period(event)) {
      state = shall_sample;
      const EventKind kind = shall_sample ? EventKind::kSamplingBegin : EventKind::kSamplingEnd;
      trace.push_back(events::plain(kind, event.thread));
    }
    trace.push_back(event);
  }
  return trace;
}

}  // namespace deadheat
