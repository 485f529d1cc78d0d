// SPDX-License-Identifier: Apache-2.0
#include "base/flat_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/random.h"

namespace deadheat {
namespace {

std::map<std::uint64_t, int> contents(FlatMap<int>& map) {
  std::map<std::uint64_t, int> result;
  map.for_each([&](std::uint64_t key, int value) {
    EXPECT_TRUE(result.emplace(key, value).second) << "key " << key << " visited twice";
  });
  return result;
}

// Where a key's lookup begins in a table of the given size (see FlatMap::home).
std::uint64_t home_of(std::uint64_t key, std::uint64_t table) { return (spread(key) >> 20) & (table - 1); }

// Keys whose lookups all begin at the given place of a table of 16.
std::vector<std::uint64_t> keys_at(std::uint64_t home, std::size_t count) {
  std::vector<std::uint64_t> keys;
  for (std::uint64_t key = 1; keys.size() < count; ++key) {
    if (home_of(key, 16) == home) keys.push_back(key);
  }
  return keys;
}

TEST(FlatMap, EmptyMapFindsAndErasesNothing) {
  FlatMap<int> map;
  EXPECT_EQ(map.find(0), nullptr);
  map.erase(0);
  EXPECT_TRUE(map.empty());
  EXPECT_TRUE(contents(map).empty());
  map.prefetch(7);
}

TEST(FlatMap, KeyZeroAndTheGreatestKeyAreKeysLikeOthers) {
  FlatMap<int> map;
  EXPECT_EQ(map.find(0), nullptr);
  map[0] = 1;
  map[~0ULL] = 2;
  ASSERT_NE(map.find(0), nullptr);
  EXPECT_EQ(*map.find(0), 1);
  EXPECT_EQ(*map.find(~0ULL), 2);
  map.erase(0);
  EXPECT_EQ(map.find(0), nullptr);
  EXPECT_EQ(map.size(), 1U);
}

TEST(FlatMap, NewValuesAreDefaultAlsoWhereAnotherWasErased) {
  FlatMap<std::string> map;
  map[5] = "old";
  map.erase(5);
  EXPECT_EQ(map[5], "");
}

TEST(FlatMap, ErasingFromAClusterThatWrapsAroundKeepsTheOthers) {
  // Seven keys in a table of 16, four of them at home in its last place: the
  // cluster runs over the end and pushes those at home in place 0 on.
  std::vector<std::uint64_t> keys = keys_at(15, 4);
  for (const std::uint64_t key : keys_at(0, 3)) keys.push_back(key);
  for (std::size_t first = 0; first < keys.size(); ++first) {
    for (std::size_t second = 0; second < keys.size(); ++second) {
      FlatMap<int> map;
      for (const std::uint64_t key : keys) map[key] = static_cast<int>(key % 1000);
      map.erase(keys[first]);
      map.erase(keys[second]);
      for (std::size_t at = 0; at < keys.size(); ++at) {
        const int* found = map.find(keys[at]);
        if (at == first || at == second) {
          EXPECT_EQ(found, nullptr);
        } else {
          ASSERT_NE(found, nullptr) << "erased " << first << " and " << second << ", lost " << at;
          EXPECT_EQ(*found, static_cast<int>(keys[at] % 1000));
        }
      }
      EXPECT_EQ(map.size(), first == second ? 6U : 5U);
    }
  }
}

TEST(FlatMap, ErasingAnAbsentKeyOfAFullClusterChangesNothing) {
  FlatMap<int> map;
  const std::vector<std::uint64_t> keys = keys_at(15, 6);
  for (std::size_t at = 0; at < 5; ++at) map[keys[at]] = 1;
  map.erase(keys[5]);
  EXPECT_EQ(map.size(), 5U);
  for (std::size_t at = 0; at < 5; ++at) EXPECT_NE(map.find(keys[at]), nullptr);
}

TEST(FlatMap, ValuesThatCannotBeCopiedSurviveGrowthAndErase) {
  FlatMap<std::unique_ptr<std::uint64_t>> map;
  for (std::uint64_t key = 0; key < 1000; ++key) map[key * 128] = std::make_unique<std::uint64_t>(key);
  for (std::uint64_t key = 0; key < 1000; key += 2) map.erase(key * 128);
  for (std::uint64_t key = 1; key < 1000; key += 2) {
    ASSERT_NE(map.find(key * 128), nullptr);
    EXPECT_EQ(**map.find(key * 128), key);
  }
  EXPECT_EQ(map.size(), 500U);
}

TEST(FlatMap, ErasedValuesAreDestroyedAtOnce) {
  const auto witness = std::make_shared<int>(1);
  FlatMap<std::shared_ptr<int>> map;
  for (std::uint64_t key = 0; key < 8; ++key) map[key] = witness;
  for (std::uint64_t key = 0; key < 8; ++key) map.erase(key);
  EXPECT_EQ(witness.use_count(), 1);
}

TEST(FlatMap, AMovedMapKeepsItsEntries) {
  FlatMap<int> map;
  map[3] = 4;
  FlatMap<int> moved = std::move(map);
  ASSERT_NE(moved.find(3), nullptr);
  EXPECT_EQ(*moved.find(3), 4);
}

// Narrow keys make clusters and reuse; wide and aligned ones stress the hash.
TEST(FlatMap, RandomOperationsMatchTheStandardMap) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    const std::uint64_t key_count = 1 + random.below(seed % 3 == 0 ? 2000 : 24);
    const std::uint64_t shift = random.below(56);
    FlatMap<int> map;
    std::unordered_map<std::uint64_t, int> model;
    for (int step = 0; step < 4000; ++step) {
      const std::uint64_t key = random.below(key_count) << shift;
      const auto value = static_cast<int>(random.below(1000));
      if (random.chance(0.5)) {
        map[key] = value;
        model[key] = value;
      } else {
        map.erase(key);
        model.erase(key);
      }
      ASSERT_EQ(map.size(), model.size());
      const std::uint64_t probe = random.below(key_count) << shift;
      const int* found = map.find(probe);
      ASSERT_EQ(found != nullptr, model.contains(probe));
      if (found != nullptr) {
        ASSERT_EQ(*found, model[probe]);
      }
    }
    const std::map<std::uint64_t, int> expected(model.begin(), model.end());
    ASSERT_EQ(contents(map), expected);
  }
}

TEST(FlatMap, LookupsStayShortForTheKeysThatAddressesMake) {
  // A bad spread of aligned keys would make one long cluster and this test slow
  // by orders of magnitude, not wrong; the bound is on the homes themselves.
  for (const std::uint64_t stride : {1ULL, 8ULL, 128ULL, 4096ULL, 1ULL << 20, 1ULL << 32, 1ULL << 44}) {
    std::map<std::uint64_t, int> homes;
    for (std::uint64_t at = 0; at < 4096; ++at) ++homes[home_of(at * stride, 16384)];
    int longest = 0;
    for (const auto& [home, count] : homes) longest = std::max(longest, count);
    EXPECT_LE(longest, 8) << "stride " << stride;
  }
}

}  // namespace
}  // namespace deadheat
