// SPDX-License-Identifier: Apache-2.0
#include "schedule/portfolio.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <vector>

#include "base/random.h"

namespace deadheat::schedule {
namespace {

constexpr std::uint32_t kArms = 4;

TEST(Portfolio, EveryStrategyIsTriedFirst) {
  std::set<std::uint32_t> first_choices;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Portfolio portfolio(kArms, seed);
    std::set<std::uint32_t> tried;
    for (std::uint32_t run = 0; run < kArms; ++run) {
      const std::uint32_t strategy = portfolio.next();
      if (run == 0) first_choices.insert(strategy);
      tried.insert(strategy);
      portfolio.learn(strategy, run == 0 ? 5 : 0);
    }
    EXPECT_EQ(tried.size(), kArms);
  }
  EXPECT_EQ(first_choices.size(), kArms);
}

TEST(Portfolio, GoesWhereTheRacesAre) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Portfolio portfolio(kArms, seed);
    Random random(seed);
    std::vector<int> runs(kArms);
    for (int run = 0; run < 100; ++run) {
      const std::uint32_t strategy = portfolio.next();
      ++runs[strategy];
      portfolio.learn(strategy, random.chance(strategy == 2 ? 0.7 : 0.02) ? 1 : 0);
    }
    EXPECT_GE(runs[2], 50) << "seed " << seed;
    for (const int count : runs) EXPECT_GE(count, 2) << "seed " << seed;
  }
}

TEST(Portfolio, LeavesAStrategyThatHasRunDry) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Portfolio portfolio(kArms, seed);
    std::vector<int> late(kArms);
    for (int run = 0; run < 140; ++run) {
      const std::uint32_t strategy = portfolio.next();
      const std::uint32_t rich = run < 70 ? 1 : 3;
      if (run >= 100) ++late[strategy];
      portfolio.learn(strategy, strategy == rich ? 1 : 0);
    }
    EXPECT_GE(late[3], 20) << "seed " << seed;
    EXPECT_LE(late[1], 12) << "seed " << seed;
  }
}

TEST(Portfolio, WithoutAnyRacesAllAreUsedAlike) {
  Portfolio portfolio(kArms, 1);
  std::vector<int> runs(kArms);
  for (int run = 0; run < 100; ++run) {
    const std::uint32_t strategy = portfolio.next();
    ++runs[strategy];
    portfolio.learn(strategy, 0);
  }
  for (const int count : runs) EXPECT_NEAR(count, 25, 5);
}

TEST(Portfolio, SeedsDecide) {
  const auto choices = [](std::uint64_t seed) {
    Portfolio portfolio(kArms, seed);
    std::vector<std::uint32_t> all;
    for (int run = 0; run < 30; ++run) {
      all.push_back(portfolio.next());
      portfolio.learn(all.back(), run % 7 == 0 ? 1 : 0);
    }
    return all;
  };
  std::set<std::vector<std::uint32_t>> different;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    EXPECT_EQ(choices(seed), choices(seed));
    different.insert(choices(seed));
  }
  EXPECT_GE(different.size(), 10U);
}

}  // namespace
}  // namespace deadheat::schedule
