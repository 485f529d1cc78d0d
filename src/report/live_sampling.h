// SPDX-License-Identifier: Apache-2.0
// How much of a run was sampled, and what follows from it, in words.
//
//   sampled 2.98% of the work (asked for 3%) in 1,204 periods: 48,211,034 accesses; it
//     took 4.12% of the processor time; seed 81234
//   a race that occurs once in every run is found in a run with probability 3%
//   one run says little: it takes 99 runs without a report to exclude such a race with
//     95% confidence, and 998 to know that it occurs in less than 10% of the runs
//
// The first line is about this run. The others are about runs like it: which part of the work
// the periods of one run happen to take is chance, and other runs take another part.
//
// The arithmetic is in sampling_guarantee.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/sampling_guarantee.h"
#include "runtime/raw_report.h"

namespace deadheat {

// A sum that does not fit into 64 bits stays at the largest number.
void add_to(std::uint64_t& sum, std::uint64_t number);

// The processes of a run together.
struct LiveSampling {
  // Amounts are added up. What was asked for (rate, budget, seed, period) is that of the
  // first process that spoke: the others inherit it.
  raw_report::Sampling totals;
  std::uint64_t processes = 0;         // that said how much they sampled
  std::uint64_t silent_processes = 0;  // that did not

  // Sums that do not fit into 64 bits stay at the largest number.
  void add(const raw_report::Sampling& one);
};

// Sampled work / work.
[[nodiscard]] inline double effective_rate(const raw_report::Sampling& sampling) {
  return share_of(sampling.sampled_work_ns, sampling.work_ns);
}

// The share of the work that runs like this one sample in the mean.
[[nodiscard]] double expected_rate(const raw_report::Sampling& sampling);

// What the detector took of the processor time.
[[nodiscard]] double cost_share(const raw_report::Sampling& sampling);

// Of parts per million: 30000 -> 0.03.
[[nodiscard]] inline double share_of_million(std::uint64_t parts) { return share_of(parts, raw_report::kWholeRate); }

// "500 us", "1 ms", "1.5 ms", "2 s".
[[nodiscard]] std::string describe_period(std::uint64_t microseconds);

// "1,204 periods: 48,211,034 accesses; it took 4.12% of the processor time; seed 81234".
[[nodiscard]] std::string describe_amounts(const raw_report::Sampling& sampling);

// The lines above, or what to do when nothing was sampled.
[[nodiscard]] std::vector<std::string> describe_sampling(const LiveSampling& sampling);

}  // namespace deadheat
