// SPDX-License-Identifier: Apache-2.0
// The totals of what a process sampled so far, told while it runs: one that a signal ends tells nothing any more.
//
// The word is told as often as the share can have changed by a sixteenth, some 150 times in an hour, and only where
// somebody listens: a file would grow by it. Used by the controller's thread alone.
#pragma once

#include <cstdint>
#include <ctime>

#include "runtime/counters.h"
#include "runtime/hand_off.h"
#include "runtime/raw_report.h"
#include "runtime/system.h"

namespace deadheat::runtime {

class SamplingWord {
 public:
  void begin() {
    began_at_ = read_clock(CLOCK_MONOTONIC);
    next_ = began_at_ + kFirst;
  }

  [[nodiscard]] bool is_due() const { return has_listener() && read_clock(CLOCK_MONOTONIC) >= next_; }

  void tell(const raw_report::Sampling& totals) {
    const std::uint64_t now = read_clock(CLOCK_MONOTONIC);
    next_ = now + kFirst + (now - began_at_) / 16;
    send_sampling(totals);
  }

 private:
  static constexpr std::uint64_t kFirst = 20'000'000;

  std::uint64_t began_at_ = 0;
  std::uint64_t next_ = 0;
};

}  // namespace deadheat::runtime
