// SPDX-License-Identifier: Apache-2.0
// What the controller of sampling (sampling_control.cpp) knows of how far the program has got, and what that took.
#pragma once

#include <cstdint>
#include <ctime>

#include "core/work_periods.h"
#include "runtime/sampling.h"
#include "runtime/sampling_control.h"
#include "runtime/system.h"
#include "runtime/thread_registry.h"

namespace deadheat::runtime {

// The processor time of a thread. The clock of the whole process does for other
// processors what the last tick of the system has told, milliseconds ago; those of
// threads are exact.
[[nodiscard]] inline std::uint64_t time_of(const ThreadState& thread) {
  if (const std::uint64_t final = peek(thread.sampling.final_time); final != 0) return final;
  const std::uint32_t os_id = peek(thread.info->os_id);
  if (os_id == 0) return 0;                                              // has not begun, or is a fiber
  return read_clock(static_cast<long>(~std::uint64_t{os_id} << 3 | 6));  // how the system numbers such clocks
}

// Ticks of the processor in nanoseconds.
class TickRate {
 public:
  void begin() {
    tick_ = read_ticks();
    time_ = read_clock(CLOCK_MONOTONIC);
  }
  void measure() {
    const std::uint64_t ticks = read_ticks() - tick_;
    const std::uint64_t time = read_clock(CLOCK_MONOTONIC) - time_;
    if (ticks != 0) per_tick_ = static_cast<double>(time) / static_cast<double>(ticks);
  }
  [[nodiscard]] std::uint64_t in_time(std::uint64_t ticks) const {
    return static_cast<std::uint64_t>(static_cast<double>(ticks) * per_tick_);
  }

 private:
  std::uint64_t tick_ = 0;
  std::uint64_t time_ = 0;
  double per_tick_ = 0.4;
};

// What threads have done, summed up.
struct Sums {
  std::uint64_t time = 0;       // nanoseconds of processor time
  std::uint64_t cost = 0;       // ticks
  std::uint64_t long_cost = 0;  // nanoseconds
  std::uint64_t progress = 0;
  SamplingCounters counters;

  void add(const ThreadState& state) {
    const ThreadSampling& thread = state.sampling;
    time += time_of(state);
    cost += peek(thread.cost);
    long_cost += peek(thread.long_cost);
    progress += state.local == nullptr ? peek(thread.final_progress) : peek(state.local->progress);
    for (int direction = 0; direction < 2; ++direction) {
      counters.sampled_accesses[direction] += peek(thread.sampled_accesses[direction]);
      counters.checked_accesses[direction] += peek(thread.checked_accesses[direction]);
    }
    add(counters.clocks.sampling, state.clock_common.counters.sampling);
    add(counters.clocks.outside, state.clock_common.counters.outside);
  }

 private:
  static void add(ClockCounters::InPeriod& sum, const ClockCounters::InPeriod& more) {
    sum.slow_joins += peek(more.slow_joins);
    sum.fast_joins += peek(more.fast_joins);
    sum.deep_copies += peek(more.deep_copies);
    sum.shallow_copies += peek(more.shallow_copies);
  }
};

// Differences of clocks that are read at slightly different times.
[[nodiscard]] inline std::uint64_t at_least_zero(std::uint64_t more, std::uint64_t less) {
  return more > less ? more - less : 0;
}

[[nodiscard]] inline std::uint64_t at_least(std::uint64_t value, std::uint64_t least) {
  return value > least ? value : least;
}

// Where the program is.
struct Measured {
  WorkPeriods::Work work;
  double pace = 1;              // work per nanosecond (core/pace.h)
  std::uint64_t cost = 0;       // nanoseconds of events that were timed
  std::uint64_t processor = 0;  // nanoseconds of the whole process
  Sums sums;

  // Work of a program that gets on as it usually does, in nanoseconds, and the other way round.
  [[nodiscard]] std::uint64_t in_time(std::uint64_t work_done) const {
    return static_cast<std::uint64_t>(static_cast<double>(work_done) / pace);
  }
  [[nodiscard]] std::uint64_t in_work(std::uint64_t time) const {
    return static_cast<std::uint64_t>(static_cast<double>(time) * pace);
  }
};

}  // namespace deadheat::runtime
