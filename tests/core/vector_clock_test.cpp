// SPDX-License-Identifier: Apache-2.0
#include "core/vector_clock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>

#include "base/random.h"

namespace deadheat {
namespace {

VectorClock make(std::initializer_list<Clock> clocks) {
  VectorClock result;
  std::uint32_t slot = 0;
  for (const Clock clock : clocks) result.set(ThreadSlot{slot++}, clock);
  return result;
}

TEST(VectorClock, ComponentsNeverSetAreZero) {
  VectorClock clock;
  EXPECT_EQ(clock.clock_of(ThreadSlot{0}), 0U);
  clock.set(ThreadSlot{5}, 7);
  EXPECT_EQ(clock.clock_of(ThreadSlot{4}), 0U);
  EXPECT_EQ(clock.clock_of(ThreadSlot{5}), 7U);
  EXPECT_EQ(clock.clock_of(ThreadSlot{6}), 0U);
  EXPECT_EQ(clock.size(), 6U);
}

TEST(VectorClock, ClearedComponentsDoNotComeBack) {
  VectorClock clock = make({1, 2, 3});
  clock.clear();
  EXPECT_TRUE(clock.empty());
  clock.set(ThreadSlot{2}, 9);
  EXPECT_EQ(clock, make({0, 0, 9}));
  clock.reset();
  EXPECT_EQ(clock, VectorClock{});
}

TEST(VectorClock, JoinTakesTheMaximumWhateverTheLengths) {
  VectorClock shorter = make({5, 1});
  shorter.join(make({2, 3, 4}));
  EXPECT_EQ(shorter, make({5, 3, 4}));
  VectorClock longer = make({2, 3, 4});
  longer.join(make({5, 1}));
  EXPECT_EQ(longer, make({5, 3, 4}));
}

TEST(VectorClock, JoinWithItselfAndWithTheEmptyClockChangesNothing) {
  VectorClock clock = make({1, 2});
  clock.join(clock);
  clock.join(VectorClock{});
  EXPECT_EQ(clock, make({1, 2}));
}

TEST(VectorClock, IsBeforeIsPointwiseAndPartial) {
  EXPECT_TRUE(VectorClock{}.is_before(make({0})));
  EXPECT_TRUE(make({1, 2}).is_before(make({1, 2})));
  EXPECT_TRUE(make({1, 2}).is_before(make({1, 2, 3})));
  EXPECT_FALSE(make({1, 2, 3}).is_before(make({1, 2})));
  EXPECT_FALSE(make({1, 3}).is_before(make({2, 2})));
  EXPECT_FALSE(make({2, 2}).is_before(make({1, 3})));
}

TEST(VectorClock, TrailingZerosDoNotCount) {
  EXPECT_EQ(make({1, 0, 0}), make({1}));
  EXPECT_EQ(make({0}), VectorClock{});
  EXPECT_TRUE(make({1, 0}).is_before(make({1})));
}

TEST(VectorClock, RandomJoinsMatchArrays) {
  Random random(11);
  for (int round = 0; round < 300; ++round) {
    std::array<Clock, 12> left{};
    std::array<Clock, 12> right{};
    VectorClock one;
    VectorClock other;
    for (std::uint32_t at = 0; at < 8; ++at) {
      const auto slot = static_cast<std::uint32_t>(random.below(12));
      one.set(ThreadSlot{slot}, left[slot] = random.below(5));
      const auto second = static_cast<std::uint32_t>(random.below(12));
      other.set(ThreadSlot{second}, right[second] = random.below(5));
    }
    const bool before = std::equal(left.begin(), left.end(), right.begin(), [](Clock a, Clock b) { return a <= b; });
    EXPECT_EQ(one.is_before(other), before);
    one.join(other);
    for (std::uint32_t slot = 0; slot < 12; ++slot) {
      ASSERT_EQ(one.clock_of(ThreadSlot{slot}), std::max(left[slot], right[slot]));
    }
  }
}

}  // namespace
}  // namespace deadheat
