// SPDX-License-Identifier: Apache-2.0
// Portfolio: which strategy gets the next run of a hunt.
//
// Nobody knows beforehand which strategy suits a program, and what suits it changes: a
// strategy that has found all it can find is worth nothing any more. This is a bandit
// whose machines run dry. Each strategy is tried once, in random order; then the run goes
// to the one with the highest upper bound of its yield (UCB1), where the past counts less
// with every run (discounted UCB, Garivier and Moulines, 2008). So a strategy that does
// not pay is still tried again from time to time, and one that stops paying is left soon.
//
// A yield is between 0 (nothing new) and 1: the second new race of a run counts half of
// the first, and so on. Pure, and the same for the same seed.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/random.h"

namespace deadheat::schedule {

class Portfolio {
 public:
  Portfolio(std::uint32_t strategy_count, std::uint64_t seed) : arms_(strategy_count), random_(seed) {
    DEADHEAT_CHECK(strategy_count > 0);
  }

  // The strategy of the next run.
  [[nodiscard]] std::uint32_t next() {
    double runs = 0;
    for (const Arm& arm : arms_) runs += arm.runs;
    std::uint32_t best = 0;
    std::uint64_t ties = 0;
    double most = -1;
    for (std::uint32_t at = 0; at < arms_.size(); ++at) {
      const double bound = upper_bound(arms_[at], runs);
      if (bound < most) continue;
      if (bound > most) ties = 0;
      most = bound;
      if (random_.below(++ties) == 0) best = at;
    }
    return best;
  }

  // A run of the strategy found so many races that no run had found before.
  void learn(std::uint32_t strategy, std::uint32_t new_races) {
    DEADHEAT_CHECK(strategy < arms_.size());
    for (Arm& arm : arms_) {
      arm.runs *= kMemory;
      arm.yield *= kMemory;
    }
    Arm& arm = arms_[strategy];
    arm.has_run = true;
    arm.runs += 1;
    arm.yield += 1 - std::exp2(-static_cast<double>(new_races));
  }

 private:
  static constexpr double kMemory = 0.9;      // of a run, in the next one
  static constexpr double kCuriosity = 0.25;  // the weight of not knowing
  static constexpr double kUntried = 1000;

  // Sums that fade.
  struct Arm {
    double runs = 0;
    double yield = 0;
    bool has_run = false;
  };

  [[nodiscard]] static double upper_bound(const Arm& arm, double runs) {
    if (!arm.has_run) return kUntried;
    return arm.yield / arm.runs + kCuriosity * std::sqrt(std::log(runs + 1) / arm.runs);
  }

  std::vector<Arm> arms_;
  Random random_;
};

}  // namespace deadheat::schedule
