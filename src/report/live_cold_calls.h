// SPDX-License-Identifier: Apache-2.0
// What a run with the cold-code sampler looked at, and what that is worth, in words.
//
//   cold code was sampled: 4,120 of 1,200,345 calls; which share of the accesses was in them is not known
//   races between hot places are missed more often than not; there is no guarantee
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/raw_report.h"

namespace deadheat {

// The processes of a run together.
struct LiveColdCalls {
  std::uint64_t calls = 0;
  std::uint64_t sampled_calls = 0;
  std::uint64_t processes = 0;           // that said how many calls they sampled
  std::uint64_t silent_processes = 0;    // that did not
  std::uint64_t refusing_processes = 0;  // of those that said: had code whose calls are not seen

  // Sums that do not fit into 64 bits stay at the largest number.
  void add(const raw_report::ColdCalls& one);
};

inline constexpr char kColdCodeNote[] =
    "races between hot places are missed more often than not; there is no guarantee";

// The lines above, or that everything was checked.
[[nodiscard]] std::vector<std::string> describe_cold_calls(const LiveColdCalls& cold);

}  // namespace deadheat
