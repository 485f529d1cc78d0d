// SPDX-License-Identifier: Apache-2.0
#include "runtime/pair_table.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

namespace deadheat::runtime {
namespace {

TEST(PairTable, SamePairHasTheSameNumber) {
  PairTable table;
  ASSERT_TRUE(table.map(1000, 64));
  const std::uint32_t one = table.number(1, 77);
  EXPECT_NE(one, 0U);
  EXPECT_EQ(table.number(1, 77), one);
  EXPECT_NE(table.number(2, 77), one);
  EXPECT_NE(table.number(1, 78), one);
  EXPECT_EQ(table.node(one).parent, 1U);
  EXPECT_EQ(table.node(one).element, 77U);
}

TEST(PairTable, NumbersBeginWhereTheyAreTold) {
  PairTable table;
  ASSERT_TRUE(table.map(100, 64, 5));
  EXPECT_EQ(table.number(0, 1), 5U);
  EXPECT_EQ(table.number(0, 2), 6U);
}

TEST(PairTable, FullTableGivesZeroAndStillFindsTheOld) {
  PairTable table;
  ASSERT_TRUE(table.map(10, 64));
  for (std::uint64_t element = 1; element <= 9; ++element) EXPECT_NE(table.number(0, element), 0U);
  for (std::uint64_t element = 10; element <= 40; ++element) EXPECT_EQ(table.number(0, element), 0U);
  EXPECT_EQ(table.node(table.number(0, 4)).element, 4U);
}

TEST(PairTable, ThreadsThatInsertTheSamePairsFindWhatTheyInserted) {
  constexpr std::uint64_t kPairs = 20'000;
  PairTable table;
  ASSERT_TRUE(table.map(1 << 20, 1 << 10));
  std::vector<std::vector<std::uint32_t>> numbers(4, std::vector<std::uint32_t>(kPairs));
  {
    std::vector<std::jthread> threads;
    for (std::size_t index = 0; index < numbers.size(); ++index) {
      threads.emplace_back([&, index] {
        for (std::uint64_t pair = 0; pair < kPairs; ++pair) {
          numbers[index][pair] = table.number(static_cast<std::uint32_t>(pair % 7), pair);
        }
      });
    }
  }
  std::set<std::uint32_t> all;
  for (const auto& own : numbers) {
    for (std::uint64_t pair = 0; pair < kPairs; ++pair) {
      ASSERT_NE(own[pair], 0U);
      ASSERT_EQ(table.node(own[pair]).element, pair);
      ASSERT_EQ(table.node(own[pair]).parent, pair % 7);
      all.insert(own[pair]);
    }
  }
  EXPECT_GE(all.size(), kPairs);
  EXPECT_LT(all.size(), 2 * kPairs) << "most pairs are numbered once";
}

}  // namespace
}  // namespace deadheat::runtime
