// SPDX-License-Identifier: Apache-2.0
#include "core/sampling_budget.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace deadheat {
namespace {

// A program whose processor time per lock grows with the rate. `seen` is the share of that
// which timed events show; `idle` is what they take anyway.
struct Program {
  double cost_per_rate;
  double seen = 1;
  double idle = 0.02;
  double progress_per_work = 1 / 50.0;
  double noise = 0;
  Random random{1};

  SamplingBudget::Step step(double rate) {
    const double more = cost_per_rate * rate;
    SamplingBudget::Step step;
    step.processor = 500e6;
    const double work = step.processor / (1 + more) * (1 + noise * (uniform() - 0.5));
    step.progress = work * progress_per_work;
    step.cost = step.processor * (idle + seen * more / (1 + more));
    step.rate = rate;
    return step;
  }
  double uniform() { return static_cast<double>(random.below(1000)) / 1000; }
};

// The mean share of the processor time that sampling takes after a while.
double cost_of(Program program, double budget, double most = 1) {
  SamplingBudget control;
  control.begin(budget, most);
  double sum = 0;
  for (int step = 0; step < 400; ++step) {
    const double rate = control.rate();
    if (step >= 200 && rate > 0) sum += program.cost_per_rate * rate / (1 + program.cost_per_rate * rate);
    control.end_step(program.step(rate), 0);
  }
  return sum / 150;  // three of four are sampled
}

TEST(SamplingBudget, FindsTheRateThatCostsTheBudget) {
  for (const double cost_per_rate : {2.0, 10.0, 50.0}) {
    EXPECT_NEAR(cost_of({cost_per_rate}, 0.05), 0.05, 0.005) << cost_per_rate;
  }
}

TEST(SamplingBudget, SeesWhatNoEventShows) {
  Program program{20};
  program.seen = 0.2;
  EXPECT_NEAR(cost_of(program, 0.05), 0.05, 0.005);
}

TEST(SamplingBudget, WithoutLocksEventsDecide) {
  Program program{20};
  program.progress_per_work = 1e-5;
  EXPECT_NEAR(cost_of(program, 0.05), 0.05, 0.005);
}

TEST(SamplingBudget, NoiseDoesNotExceedTheBudgetByMuch) {
  Program program{20};
  program.noise = 0.1;
  EXPECT_LT(cost_of(program, 0.05), 0.06);
  EXPECT_GT(cost_of(program, 0.05), 0.01);
}

// Records that slow down the steps without sampling, too, for instance.
TEST(SamplingBudget, WhatNoStepShowsIsMadeUpForByTheWholeRun) {
  const auto whole_cost = [](bool is_told) {
    SamplingBudget control;
    control.begin(0.05, 1);
    Program shown{10};
    double sum = 0;
    for (int step = 0; step < 400; ++step) {
      const double really = 2 * shown.cost_per_rate * control.rate();
      sum += really / (1 + really);
      control.end_step(shown.step(control.rate()), is_told ? sum / (step + 1) : 0);
    }
    return sum / 400;
  };
  EXPECT_GT(whole_cost(false), 0.065);
  EXPECT_LT(whole_cost(true), 0.06);
  EXPECT_GT(whole_cost(true), 0.045);
}

TEST(SamplingBudget, TheRateIsNeverAboveTheLimit) { EXPECT_NEAR(cost_of({1}, 0.5, 0.01), 0.01, 0.001); }

TEST(SamplingBudget, EveryFourthStepIsIdle) {
  SamplingBudget control;
  control.begin(0.05, 1);
  Program program{10};
  for (int step = 0; step < 20; ++step) {
    EXPECT_EQ(control.rate() == 0, step % 4 == 0) << step;
    EXPECT_GT(control.usual_rate(), 0);
    control.end_step(program.step(control.rate()), 0);
  }
}

}  // namespace
}  // namespace deadheat
