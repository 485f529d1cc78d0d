// SPDX-License-Identifier: Apache-2.0
// What the command line asks of the agent, in DEADHEAT_WATCH_OPTIONS: "name=value" with
// colons between. What is wrong or unknown is said once and left at its default.
#pragma once

#include <cstdint>

namespace deadheat::watch {

enum class Method : std::uint8_t {
  kClock,    // CRSampler: no delay; suspects
  kCollide,  // DataCollider: every watch stalls, as far as stall_share allows
  kConfirm,  // clock; suspects, and with what is left of stall_share others, are stalled
};

struct Settings {
  Method method = Method::kConfirm;
  std::uint64_t rate = 100;           // watches a second, of the whole process
  std::uint64_t limit_us = 15'000;    // a watch at most
  std::uint64_t stall_us = 1000;      // a stall at most
  std::uint64_t stall_share = 5'000;  // millionths of the processor time, for stalls
  std::uint64_t cpu_share = 5'000;    // millionths of the processor time, for the agent and what it slows down
  std::uint64_t clock_us = 100'000;   // between samples of the second sampler, of the whole process; 0: none
  std::uint64_t seed = 1;
  std::uint64_t slots = 2;  // breakpoints of each thread, of the processor's four
  std::uint64_t patch = 1;  // instructions may be replaced by int3; otherwise the clock is the only sampler
  // For tests: as if the system had no breakpoints for us, or no writable code.
  std::uint64_t refuse = 0;
  std::uint64_t refuse_write = 0;
};

// Text is nullptr for none.
[[nodiscard]] Settings parse_settings(const char* text);

}  // namespace deadheat::watch
