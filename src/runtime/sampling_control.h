// SPDX-License-Identifier: Apache-2.0
// The thread that opens and closes sampling periods, in a process that samples.
//
// It measures how much work the program has done (core/pace.h), asks core/work_periods.h whether a period is to
// be open, and nudges threads that have not noticed. Between periods it gives the
// memory of cells without records back. It also answers who asks to change the rate
// (raw_report.h), and with a budget it sets the rate itself: so that the measured
// cost of the detector stays a given share of processor time.
//
// It begins when the program makes its first thread: before, nothing can race.
#pragma once

#include <cstdint>

#include "core/pacer_clock.h"
#include "runtime/raw_report.h"

namespace deadheat::runtime {

// Does nothing if the process does not sample, or if it runs already. If it cannot be
// had, nothing is sampled, and a line says so.
void start_sampling_control();
// In the child of a fork, where that thread does not exist.
void forget_sampling_control();

// The thread ends, and nothing is sampled from then on; the report says why. Outside of any scope.
void end_sampling_control(const char* notice);

// The totals so far, for the summary.
[[nodiscard]] raw_report::Sampling sampling_totals();
// The counters of the paper's Table 3, as far as they are counted: accesses that pass
// the inline checks are not.
struct SamplingCounters {
  std::uint64_t sampled_accesses[2] = {};  // reads, writes
  std::uint64_t checked_accesses[2] = {};
  ClockCounters clocks;
};
[[nodiscard]] SamplingCounters sampling_counters();

// A thread is about to be removed: what it did is kept. The registry's lock is held.
struct ThreadState;
void keep_sampling_of(const ThreadState& thread);

}  // namespace deadheat::runtime
