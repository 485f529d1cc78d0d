// SPDX-License-Identifier: Apache-2.0
#include "record/tick_phase.h"

#include <gtest/gtest.h>

namespace deadheat::record {
namespace {

constexpr std::uint64_t kMillisecond = 1'000'000;

TEST(TickPhaseTest, ClockFasterThanTheTickBeginsAtAMultipleOfItsOwnPeriod) {
  EXPECT_EQ(begin_in_phase(7'300'000, kMillisecond, 4 * kMillisecond), 8 * kMillisecond);
  EXPECT_EQ(begin_in_phase(8'000'001, kMillisecond, 4 * kMillisecond), 9 * kMillisecond);
}

TEST(TickPhaseTest, ClockSlowerThanTheTickBeginsAtAnyTick) {
  EXPECT_EQ(begin_in_phase(9'300'000, 100 * kMillisecond, 4 * kMillisecond), 12 * kMillisecond);
}

TEST(TickPhaseTest, MomentInPhaseIsTaken) {
  EXPECT_EQ(begin_in_phase(8 * kMillisecond, kMillisecond, 4 * kMillisecond), 8 * kMillisecond);
  EXPECT_EQ(begin_in_phase(8 * kMillisecond, kMillisecond, kMillisecond), 8 * kMillisecond);
}

TEST(TickPhaseTest, ClockThatCannotMeetTheTicksDoesNotWait) {
  EXPECT_EQ(begin_in_phase(7'300'000, 3 * kMillisecond, 4 * kMillisecond), 7'300'000U);
  EXPECT_EQ(begin_in_phase(7'300'000, 10 * kMillisecond, 4 * kMillisecond), 7'300'000U);
  EXPECT_EQ(begin_in_phase(7'300'000, kMillisecond, 0), 7'300'000U);
}

}  // namespace
}  // namespace deadheat::record
