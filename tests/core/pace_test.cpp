// SPDX-License-Identifier: Apache-2.0
#include "core/pace.h"

#include <gtest/gtest.h>

namespace deadheat {
namespace {

constexpr std::uint64_t kMillisecond = 1'000'000;

Pace done(std::uint64_t time, std::uint64_t cost, std::uint64_t count) {
  Pace pace;
  pace.add(time, cost, count);
  return pace;
}

double share(const Pace& part, const Pace& rest) {
  const auto work = static_cast<double>(part.work());
  return work / (work + static_cast<double>(rest.work()));
}

TEST(Pace, WhatIsCountedIsWorkHoweverLongItTakes) {
  const Pace outside = done(9 * kMillisecond, 0, 9'000'000);
  for (const std::uint64_t times_slower : {1, 10, 80}) {
    // Nine tenths of what it takes longer are known.
    const Pace inside = done(times_slower * kMillisecond, (times_slower - 1) * kMillisecond * 9 / 10, 1'000'000);
    EXPECT_NEAR(share(inside, outside), 0.1, 0.002) << times_slower;
  }
}

TEST(Pace, WithoutCountsTimeIsWork) {
  EXPECT_NEAR(share(done(kMillisecond, 0, 0), done(9 * kMillisecond, 0, 0)), 0.1, 0.001);
  EXPECT_NEAR(share(done(3 * kMillisecond, 2 * kMillisecond, 0), done(9 * kMillisecond, 0, 0)), 0.1, 0.001);
}

TEST(Pace, SomebodyIsAlwaysWorking) { EXPECT_EQ(done(800, 10'000, 0).net_time(), 100U); }

TEST(Pace, CostThatIsKnownLateIsTakenOffLater) {
  Pace pace;
  pace.add(1000, 0, 0);
  pace.add(1000, 1500, 0);
  pace.add(1000, 0, 0);
  EXPECT_EQ(pace.net_time(), 1500U);
}

TEST(Pace, WorkNeverShrinks) {
  Pace pace;
  std::uint64_t before = 0;
  for (const std::uint64_t cost : {0, 5000, 100, 0, 90'000}) {
    pace.add(2000, cost, 10);
    EXPECT_GT(pace.work(), before);
    before = pace.work();
  }
}

TEST(PaceOf, CodeWithoutChecksDecidesIfThereIsEnough) {
  const Pace unchecked = done(100 * kMillisecond, 0, 300'000'000);
  const Pace checked = done(100 * kMillisecond, 0, 100'000'000);
  const Pace inside = done(100 * kMillisecond, 0, 1'000'000);
  EXPECT_NEAR(pace_of(unchecked, checked, inside, kMillisecond), 3, 0.01);
  EXPECT_NEAR(pace_of({}, checked, inside, kMillisecond), 1, 0.01);
  EXPECT_NEAR(pace_of({}, {}, inside, kMillisecond), 0.01, 0.005);
}

TEST(PaceOf, LittleSaysLittle) {
  EXPECT_EQ(pace_of({}, {}, {}, kMillisecond), 1);
  EXPECT_NEAR(pace_of(done(1000, 0, 50'000), {}, {}, kMillisecond), 1.4, 0.05);
}

}  // namespace
}  // namespace deadheat
