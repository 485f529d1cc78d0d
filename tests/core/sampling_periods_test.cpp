// SPDX-License-Identifier: Apache-2.0
#include "core/sampling_periods.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

namespace deadheat {
namespace {

std::vector<bool> sampled_accesses(const SamplingPlan& plan, std::uint64_t accesses) {
  SamplingPeriods periods(plan);
  std::vector<bool> sampled;
  for (std::uint64_t at = 0; at < accesses; ++at) {
    sampled.push_back(periods.is_open());
    periods.advance();
  }
  return sampled;
}

std::uint64_t count_sampled(const std::vector<bool>& sampled) {
  std::uint64_t result = 0;
  for (const bool one : sampled) result += one ? 1 : 0;
  return result;
}

TEST(SamplingPeriods, NothingAtZeroAndEverythingAtOne) {
  EXPECT_EQ(count_sampled(sampled_accesses({.rate = 0, .seed = 1, .period = 10}, 10'000)), 0U);
  for (const std::uint64_t period : {1, 7, 1000}) {
    EXPECT_EQ(count_sampled(sampled_accesses({.rate = 1, .seed = 1, .period = period}, 10'000)), 10'000U);
  }
}

TEST(SamplingPeriods, ARunDiffersFromTheRateByLessThanAPeriodAtAnyMoment) {
  for (const double rate : {0.001, 0.01, 0.03, 0.25, 0.5, 0.9}) {
    for (const std::uint64_t period : {1, 10, 100}) {
      SCOPED_TRACE(testing::Message() << "rate " << rate << ", period " << period);
      const std::vector<bool> sampled = sampled_accesses({.rate = rate, .seed = 5, .period = period}, 200'000);
      double so_far = 0;
      double worst = 0;
      for (std::uint64_t at = 0; at < sampled.size(); ++at) {
        so_far += sampled[at] ? 1 : 0;
        worst = std::max(worst, std::abs(so_far - rate * static_cast<double>(at + 1)));
      }
      EXPECT_LE(worst, static_cast<double>(period) + 1);
    }
  }
}

// The guarantee for a race is one for the place of its first access, whichever it is.
TEST(SamplingPeriods, EveryPlaceIsSampledEquallyOften) {
  constexpr std::uint64_t kSeeds = 20'000;
  constexpr double kRate = 0.1;
  std::vector<std::uint64_t> hits(120);
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const std::vector<bool> sampled = sampled_accesses({.rate = kRate, .seed = seed, .period = 5}, hits.size());
    for (std::size_t at = 0; at < hits.size(); ++at) hits[at] += sampled[at] ? 1 : 0;
  }
  const double deviation = std::sqrt(kSeeds * kRate * (1 - kRate));
  for (std::size_t at = 0; at < hits.size(); ++at) {
    EXPECT_NEAR(static_cast<double>(hits[at]), kSeeds * kRate, 5 * deviation) << "place " << at;
  }
}

TEST(SamplingPeriods, TheSeedDecides) {
  const SamplingPlan plan{.rate = 0.1, .seed = 3, .period = 10};
  EXPECT_EQ(sampled_accesses(plan, 5000), sampled_accesses(plan, 5000));
  EXPECT_NE(sampled_accesses(plan, 5000), sampled_accesses({.rate = 0.1, .seed = 4, .period = 10}, 5000));
}

TEST(SamplingPeriods, RatesTooSmallForAnyRunAreNoProblem) {
  EXPECT_LE(count_sampled(sampled_accesses({.rate = 1e-300, .seed = 1, .period = 1000}, 10'000)), 1000U);
}

}  // namespace
}  // namespace deadheat
