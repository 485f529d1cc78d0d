// SPDX-License-Identifier: Apache-2.0
#include "core/range_map.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <tuple>
#include <vector>

#include "base/random.h"
#include "core/core_fixture.h"

namespace deadheat {
namespace {

using Piece = std::tuple<Address, Address, int>;

std::vector<Piece> pieces(const RangeMap<int>& map, Address first = 0, Address last = kTop) {
  std::vector<Piece> result;
  map.for_each(first, last, [&](Address from, Address to, int value) { result.emplace_back(from, to, value); });
  return result;
}

TEST(RangeMap, AssignOverwritesTheMiddleOfARange) {
  RangeMap<int> map;
  map.assign(10, 19, 1);
  map.assign(13, 15, 2);
  EXPECT_EQ(pieces(map), (std::vector<Piece>{{10, 12, 1}, {13, 15, 2}, {16, 19, 1}}));
}

TEST(RangeMap, NeighboursWithEqualValuesMerge) {
  RangeMap<int> map;
  map.assign(10, 11, 1);
  map.assign(14, 15, 1);
  map.assign(12, 13, 1);
  EXPECT_EQ(pieces(map), (std::vector<Piece>{{10, 15, 1}}));
  EXPECT_TRUE(map.covers(10, 15));
  EXPECT_FALSE(map.covers(10, 16));
  EXPECT_FALSE(map.covers(9, 10));
}

TEST(RangeMap, NeighboursWithDifferentValuesDoNotMerge) {
  RangeMap<int> map;
  map.assign(10, 11, 1);
  map.assign(12, 13, 2);
  EXPECT_EQ(pieces(map).size(), 2U);
}

TEST(RangeMap, TheWholeAddressSpaceIsARange) {
  RangeMap<int> map;
  map.assign(0, kTop, 1);
  EXPECT_EQ(*map.find(0), 1);
  EXPECT_EQ(*map.find(kTop), 1);
  EXPECT_TRUE(map.covers(0, kTop));
  map.erase(0, 0);
  map.erase(kTop, kTop);
  EXPECT_EQ(pieces(map), (std::vector<Piece>{{1, kTop - 1, 1}}));
  map.assign(0, kTop, 1);
  EXPECT_EQ(pieces(map).size(), 1U);
}

TEST(RangeMap, TheLastByteDoesNotTouchTheFirst) {
  RangeMap<int> map;
  map.assign(kTop, kTop, 1);
  map.assign(0, 0, 1);
  EXPECT_EQ(pieces(map), (std::vector<Piece>{{0, 0, 1}, {kTop, kTop, 1}}));
}

TEST(RangeMap, ForEachCutsToTheAskedRange) {
  RangeMap<int> map;
  map.assign(10, 20, 1);
  map.assign(30, 40, 2);
  EXPECT_EQ(pieces(map, 15, 32), (std::vector<Piece>{{15, 20, 1}, {30, 32, 2}}));
  EXPECT_TRUE(pieces(map, 21, 29).empty());
}

// The window lies at the bottom, in the middle or at the top of the addresses.
TEST(RangeMap, RandomOperationsMatchOneValuePerByte) {
  constexpr std::uint64_t kWindow = 64;
  for (std::uint64_t seed = 1; seed <= 90; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    const Address base = seed % 3 == 0 ? 0 : (seed % 3 == 1 ? 1000 : kTop - (kWindow - 1));
    RangeMap<int> map;
    std::array<int, kWindow> model{};  // 0: nothing
    for (int step = 0; step < 200; ++step) {
      const std::uint64_t first = random.below(kWindow);
      const std::uint64_t last = first + random.below(kWindow - first);
      const auto value = static_cast<int>(random.below(4));
      if (value == 0) {
        map.erase(base + first, base + last);
      } else {
        map.assign(base + first, base + last, value);
      }
      for (std::uint64_t at = first; at <= last; ++at) model[at] = value;

      for (std::uint64_t at = 0; at < kWindow; ++at) {
        const int* found = map.find(base + at);
        ASSERT_EQ(found == nullptr ? 0 : *found, model[at]) << "byte " << at;
      }
      std::array<int, kWindow> seen{};
      Address previous_last = 0;
      int previous_value = 0;
      for (const auto& [from, to, part] : pieces(map)) {
        ASSERT_LE(from, to);
        ASSERT_FALSE(previous_value == part && previous_last + 1 == from && from != 0) << "unmerged neighbours";
        for (std::uint64_t at = from - base; at <= to - base; ++at) seen[at] = part;
        previous_last = to;
        previous_value = part;
      }
      ASSERT_EQ(seen, model);
    }
  }
}

}  // namespace
}  // namespace deadheat
