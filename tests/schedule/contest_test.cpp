// SPDX-License-Identifier: Apache-2.0
#include "schedule/contest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "support/simulated_program.h"

namespace deadheat::schedule {
namespace {

struct Noise {
  int delays = 0;
  int yields = 0;
  std::uint64_t longest = 0;
};

Noise noise_of(std::uint64_t seed, int points) {
  ConTest strategy({.strategy = StrategyKind::kConTest, .seed = seed});
  Noise noise;
  for (int point = 0; point < points; ++point) {
    const Decision decision = point % 2 == 0 ? strategy.on_point(1) : strategy.on_request({});
    EXPECT_EQ(decision.verdict, Verdict::kGo);
    noise.delays += decision.delay_ns > 0 ? 1 : 0;
    noise.yields += decision.delay_ns == 1 ? 1 : 0;
    noise.longest = std::max(noise.longest, decision.delay_ns);
  }
  return noise;
}

TEST(ConTest, DelaysSomePointsForAFewMillisecondsAtMost) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Noise noise = noise_of(seed, 1000);
    EXPECT_GE(noise.delays, 30);
    EXPECT_LE(noise.delays, 600);
    EXPECT_GT(noise.yields, noise.delays / 4);
    EXPECT_LE(noise.longest, 4'200'000U);
  }
}

TEST(ConTest, ALongRunIsNotDelayedMuchMore) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    EXPECT_LT(noise_of(seed, 1'000'000).delays, noise_of(seed, 1000).delays * 12);
  }
}

TEST(ConTest, ShiftsWhatIsClose) {
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SimulationOptions options;
    options.settings = {.strategy = StrategyKind::kConTest, .seed = seed};
    options.machine_seed = seed;
    found += simulate(figure_2(100), options).races.empty() ? 0 : 1;
  }
  EXPECT_GE(found, 3);
}

}  // namespace
}  // namespace deadheat::schedule
