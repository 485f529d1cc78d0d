// SPDX-License-Identifier: Apache-2.0
#include "core/pace.h"

#include <gtest/gtest.h>

namespace deadheat {
namespace {

constexpr double kNoDoubt = 0;
constexpr double kLeast = 0.125;

TEST(PaceInside, WhoDoesTheSamePerTimeWorksAllTheTime) {
  EXPECT_DOUBLE_EQ(pace_inside({100, 10}, {1000, 100}, kNoDoubt, kNoDoubt, kLeast), 1);
}

TEST(PaceInside, WhoDoesHalfAsMuchWorksHalfTheTime) {
  EXPECT_DOUBLE_EQ(pace_inside({100, 5}, {1000, 100}, kNoDoubt, kNoDoubt, kLeast), 0.5);
}

TEST(PaceInside, NobodyIsFasterInPeriods) {
  EXPECT_DOUBLE_EQ(pace_inside({100, 30}, {1000, 100}, kNoDoubt, kNoDoubt, kLeast), 1);
}

TEST(PaceInside, SomebodyIsAlwaysWorking) {
  EXPECT_DOUBLE_EQ(pace_inside({100, 0}, {1000, 100}, kNoDoubt, kNoDoubt, kLeast), kLeast);
}

TEST(PaceInside, WithoutCountsTimeIsWork) {
  EXPECT_DOUBLE_EQ(pace_inside({100, 0}, {1000, 0}, kNoDoubt, kNoDoubt, kLeast), 1);
  EXPECT_DOUBLE_EQ(pace_inside({100, 10}, {0, 0}, kNoDoubt, kNoDoubt, kLeast), 1);
}

TEST(PaceInside, LittleTimeSaysLittle) {
  // As if 300 more had been done at the usual pace.
  EXPECT_DOUBLE_EQ(pace_inside({100, 0}, {1000, 100}, 300, 0, kLeast), 0.75);
  EXPECT_DOUBLE_EQ(pace_inside({100, 0}, {1000, 100}, 0, 30, kLeast), 0.75);
}

// Then the sampled share of the work is that of what was counted.
TEST(PaceInside, MuchOfItDecidesTheShare) {
  const Pace inside{40'000'000, 1'000'000};
  const Pace outside{100'000'000, 9'000'000};
  const double work = static_cast<double>(inside.time) * pace_inside(inside, outside, 1000, 200, kLeast);
  EXPECT_NEAR(work / (work + static_cast<double>(outside.time)), 0.1, 0.001);
}

}  // namespace
}  // namespace deadheat
