// SPDX-License-Identifier: Apache-2.0
// SamplingPeriods: when a sampling detector samples, from a rate and a seed.
//
// What is promised is that each access is sampled with a probability equal to the
// rate, over the seeds, and that the share of accesses sampled in one run is close
// to the rate as well. So work is measured in accesses, and it is divided into
// cycles of period / rate accesses. In each cycle one period is open, which begins
// at a random place; one that would reach beyond the end of the cycle has the rest
// at its beginning. Every place in a cycle is then equally likely to be sampled,
// and a run differs from the rate by less than one period.
//
// The paper (section 4) measures time by garbage collections, which sampling
// makes more frequent, and adjusts the probability of the next period by the work
// that was really done. Measuring the work itself leaves nothing to adjust.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/check.h"
#include "base/random.h"

namespace deadheat {

struct SamplingPlan {
  static constexpr std::uint64_t kUsualPeriod = 1000;

  double rate = 1;  // 0 to 1
  std::uint64_t seed = 1;
  std::uint64_t period = kUsualPeriod;  // accesses; at least 1
};

class SamplingPeriods {
 public:
  explicit SamplingPeriods(const SamplingPlan& plan) : plan_(plan), random_(plan.seed) {
    DEADHEAT_CHECK(plan.rate >= 0 && plan.rate <= 1 && plan.period > 0);
    if (plan.rate > 0) begin_cycle();
  }

  // Whether the next access is to be sampled.
  [[nodiscard]] bool is_open() const { return is_open_; }

  // An access has been made.
  void advance() {
    if (plan_.rate == 0) return;
    if (++position_ == length_) return begin_cycle();
    is_open_ = is_in_period();
  }

 private:
  // Cycles are as near to period / rate as whole numbers allow, and so is their sum.
  void begin_cycle() {
    constexpr double kLongest = 0x1.0p62;
    const double ideal_end = (static_cast<double>(cycles_) + 1) * static_cast<double>(plan_.period) / plan_.rate;
    const auto end = static_cast<std::uint64_t>(std::min(std::floor(ideal_end), kLongest));
    length_ = std::max(end - std::min(end, end_), plan_.period);
    end_ = end;
    ++cycles_;
    position_ = 0;
    begin_ = random_.below(length_);
    is_open_ = is_in_period();
  }
  [[nodiscard]] bool is_in_period() const {
    const std::uint64_t after_begin = position_ >= begin_ ? position_ - begin_ : position_ + (length_ - begin_);
    return after_begin < plan_.period;
  }

  SamplingPlan plan_;
  Random random_;
  std::uint64_t cycles_ = 0;    // begun
  std::uint64_t end_ = 0;       // of the current one, in accesses since the start
  std::uint64_t length_ = 0;    // of the current one
  std::uint64_t position_ = 0;  // in it
  std::uint64_t begin_ = 0;     // of the period in it
  bool is_open_ = false;
};

}  // namespace deadheat
