// SPDX-License-Identifier: Apache-2.0
#include "base/random.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

namespace deadheat {
namespace {

TEST(Random, GivesThePublishedSequenceOfSplitmix64) {
  Random random(1234567);
  EXPECT_EQ(random.next(), 6457827717110365317ULL);
  EXPECT_EQ(random.next(), 3203168211198807973ULL);
  EXPECT_EQ(random.next(), 9817491932198370423ULL);
  EXPECT_EQ(random.next(), 4593380528125082431ULL);
}

TEST(Random, SameSeedSameSequenceAndDifferentSeedsDiffer) {
  Random one(5);
  Random same(5);
  Random other(6);
  bool differs = false;
  for (int at = 0; at < 100; ++at) {
    const std::uint64_t value = one.next();
    EXPECT_EQ(value, same.next());
    differs |= value != other.next();
  }
  EXPECT_TRUE(differs);
}

TEST(Random, BelowStaysBelowEveryBound) {
  Random random(1);
  for (const std::uint64_t bound : {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{7}, ~std::uint64_t{0}}) {
    for (int at = 0; at < 1000; ++at) ASSERT_LT(random.below(bound), bound);
  }
}

TEST(Random, BelowReachesEveryValueEvenly) {
  Random random(2);
  std::array<int, 10> counts{};
  for (int at = 0; at < 100000; ++at) ++counts[random.below(10)];
  for (const int count : counts) EXPECT_NEAR(count, 10000, 500);
}

TEST(Random, ChanceZeroNeverAndChanceOneAlways) {
  Random random(3);
  for (int at = 0; at < 10000; ++at) {
    ASSERT_FALSE(random.chance(0.0));
    ASSERT_TRUE(random.chance(1.0));
  }
}

TEST(Random, ChanceHasItsProbability) {
  Random random(4);
  int hits = 0;
  for (int at = 0; at < 100000; ++at) hits += random.chance(0.03) ? 1 : 0;
  EXPECT_NEAR(hits, 3000, 300);
}

}  // namespace
}  // namespace deadheat
