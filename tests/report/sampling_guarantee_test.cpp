// SPDX-License-Identifier: Apache-2.0
#include "report/sampling_guarantee.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace deadheat {
namespace {

TEST(SamplingGuaranteeTest, ShareOfNothingIsNothingAndNoneIsAboveTheWhole) {
  EXPECT_EQ(share_of(0, 0), 0);
  EXPECT_EQ(share_of(5, 0), 0);
  EXPECT_EQ(share_of(1, 4), 0.25);
  EXPECT_EQ(share_of(5, 4), 1);
  EXPECT_EQ(share_of(UINT64_MAX, UINT64_MAX), 1);
}

TEST(SamplingGuaranteeTest, RunsToExcludeARaceOfEveryRun) {
  EXPECT_EQ(runs_to_bound(0.03), 99U);
  EXPECT_EQ(runs_to_bound(0.01), 299U);
  EXPECT_EQ(runs_to_bound(0.5), 5U);
  EXPECT_EQ(runs_to_bound(0.95), 1U);
  EXPECT_EQ(runs_to_bound(1), 1U);
  EXPECT_EQ(runs_to_bound(1e-6), 2'995'731U);
}

TEST(SamplingGuaranteeTest, RareRacesTakeMoreRuns) {
  EXPECT_EQ(runs_to_bound(1, 0.1), 29U);
  EXPECT_EQ(runs_to_bound(0.03, 0.1), 998U);
}

TEST(SamplingGuaranteeTest, NothingSampledBoundsNothing) {
  EXPECT_EQ(runs_to_bound(0), std::nullopt);
  EXPECT_EQ(runs_to_bound(0.5, 0), std::nullopt);
  EXPECT_EQ(occurrence_bound(0, 1000), std::nullopt);
  EXPECT_EQ(occurrence_bound(0.5, 0), std::nullopt);
  const double not_a_number = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(runs_to_bound(not_a_number), std::nullopt);
  EXPECT_EQ(occurrence_bound(not_a_number, 1), std::nullopt);
}

TEST(SamplingGuaranteeTest, TheSmallestRateTakesManyRunsAndNoOverflow) {
  EXPECT_EQ(runs_to_bound(share_of(1, UINT64_MAX)), 1'000'000'000'000'000'000U);
}

TEST(SamplingGuaranteeTest, OneRunBoundsOnlyAtARateOfAlmostEverything) {
  EXPECT_EQ(occurrence_bound(0.03, 1), std::nullopt);
  EXPECT_EQ(occurrence_bound(0.9, 1), std::nullopt);
  EXPECT_NEAR(*occurrence_bound(0.98, 1), 0.95 / 0.98, 1e-12);
  EXPECT_NEAR(*occurrence_bound(1, 1), 0.95, 1e-12);
  EXPECT_NEAR(*occurrence_bound(1, 100), 1 - std::pow(0.05, 0.01), 1e-12);
}

// The two functions are one inequality, solved for n and for q.
TEST(SamplingGuaranteeTest, TheNumberOfRunsIsTheSmallestThatGivesTheBound) {
  for (const double rate : {0.001, 0.03, 0.1, 0.5, 0.93}) {
    for (const double occurrence : {0.01, 0.1, 0.7, 1.0}) {
      const std::uint64_t runs = runs_to_bound(rate, occurrence).value();
      EXPECT_LE(occurrence_bound(rate, runs).value(), occurrence);
      EXPECT_GT(occurrence_bound(rate, runs - 1).value_or(2), occurrence);
      const auto unreported = [&](std::uint64_t n) { return std::pow(1 - rate * occurrence, static_cast<double>(n)); };
      EXPECT_LE(unreported(runs), 0.05);
      EXPECT_GT(unreported(runs - 1), 0.05);
    }
  }
}

}  // namespace
}  // namespace deadheat
