// SPDX-License-Identifier: Apache-2.0
#include "report/live_cold_calls.h"

#include <fmt/format.h>

#include "report/describe.h"
#include "report/live_sampling.h"

namespace deadheat {

void LiveColdCalls::add(const raw_report::ColdCalls& one) {
  ++processes;
  add_to(calls, one.calls);
  add_to(sampled_calls, one.sampled_calls);
  refusing_processes += one.is_refused != 0 ? 1 : 0;
}

std::vector<std::string> describe_cold_calls(const LiveColdCalls& cold) {
  std::vector<std::string> lines;
  if (cold.calls != 0) {
    lines.push_back(fmt::format("cold code was sampled: {} of {}; which share of the accesses was in them is not known",
                                grouped(cold.sampled_calls), counted(cold.calls, "call")));
    lines.emplace_back(kColdCodeNote);
  } else if (cold.refusing_processes < cold.processes) {
    lines.emplace_back("no calls were seen that could be sampled: everything was checked");
  }
  if (cold.refusing_processes != 0 && cold.processes + cold.silent_processes == 1) {
    lines.emplace_back(cold.calls == 0
                           ? "cold code was not sampled, everything was checked: the program was not built with calls"
                           : "later everything was checked: code was loaded that was not built with calls");
  } else if (cold.refusing_processes != 0) {
    lines.push_back(fmt::format("{} of {} processes had code that was not built with calls, and checked everything",
                                grouped(cold.refusing_processes), grouped(cold.processes + cold.silent_processes)));
  }
  if (cold.silent_processes != 0) {
    lines.push_back(fmt::format("how many calls {} of {} processes sampled is not known",
                                grouped(cold.silent_processes), grouped(cold.processes + cold.silent_processes)));
  }
  return lines;
}

}  // namespace deadheat
