// SPDX-License-Identifier: Apache-2.0
#include "base/growable_array.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/random.h"

namespace deadheat {
namespace {

// Counts what is alive, so that a missed destructor or a double one shows.
struct Tracked {
  static inline int alive = 0;
  int value = 0;

  Tracked() { ++alive; }
  explicit Tracked(int v) : value(v) { ++alive; }
  Tracked(const Tracked& other) : value(other.value) { ++alive; }
  Tracked(Tracked&& other) noexcept : value(std::exchange(other.value, -1)) { ++alive; }
  Tracked& operator=(const Tracked&) = default;
  Tracked& operator=(Tracked&& other) noexcept {
    value = std::exchange(other.value, -1);
    return *this;
  }
  ~Tracked() { --alive; }
};

// Counts bytes, so that the size given back must be the size asked for.
struct CountingSource {
  static inline std::size_t bytes = 0;
  static void* allocate(std::size_t size) {
    bytes += size;
    return HeapSource::allocate(size);
  }
  static void release(void* memory, std::size_t size) {
    bytes -= size;
    HeapSource::release(memory, size);
  }
};

using Array = GrowableArray<Tracked, CountingSource>;

std::vector<int> values(const Array& array) {
  std::vector<int> result;
  for (const Tracked& element : array) result.push_back(element.value);
  return result;
}

Array make(std::vector<int> elements) {
  Array array;
  for (const int element : elements) array.push_back(Tracked(element));
  return array;
}

TEST(GrowableArray, StartsEmptyWithoutMemory) {
  const Array array;
  EXPECT_TRUE(array.empty());
  EXPECT_EQ(array.begin(), array.end());
  EXPECT_EQ(CountingSource::bytes, 0U);
}

TEST(GrowableArray, ResizeFillsWithDefaultValuesAlsoAfterShrinking) {
  GrowableArray<std::uint64_t> array;
  array.push_back(7);
  array.push_back(8);
  array.resize(0);
  array.resize(5);
  for (const std::uint64_t value : array) EXPECT_EQ(value, 0U);
}

TEST(GrowableArray, PushBackOfAnOwnElementSurvivesTheMove) {
  Array array = make({1, 2, 3, 4});  // full: the next one moves the memory
  array.push_back(array[0]);
  EXPECT_EQ(values(array), (std::vector<int>{1, 2, 3, 4, 1}));
}

TEST(GrowableArray, InsertAndEraseKeepTheOrder) {
  Array array = make({1, 3});
  array.insert(1, Tracked(2));
  array.insert(0, Tracked(0));
  array.insert(4, Tracked(4));
  EXPECT_EQ(values(array), (std::vector<int>{0, 1, 2, 3, 4}));
  array.erase(4);
  array.erase(0);
  array.erase(1);
  EXPECT_EQ(values(array), (std::vector<int>{1, 3}));
}

TEST(GrowableArray, CopiesAreIndependent) {
  Array array = make({1, 2, 3});
  Array copy = array;
  copy[0].value = 9;
  EXPECT_EQ(values(array), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(values(copy), (std::vector<int>{9, 2, 3}));
}

TEST(GrowableArray, AssignmentBothGrowsAndShrinks) {
  Array array = make({1, 2, 3, 4, 5, 6});
  array = make({7});
  EXPECT_EQ(values(array), (std::vector<int>{7}));
  const Array longer = make({1, 2, 3, 4, 5});
  array = longer;
  EXPECT_EQ(values(array), (std::vector<int>{1, 2, 3, 4, 5}));
  const Array shorter = make({8, 9});
  array = shorter;
  EXPECT_EQ(values(array), (std::vector<int>{8, 9}));
}

TEST(GrowableArray, SelfAssignmentChangesNothing) {
  Array array = make({1, 2, 3});
  const Array& same = array;
  array = same;
  EXPECT_EQ(values(array), (std::vector<int>{1, 2, 3}));
}

TEST(GrowableArray, MovedFromByConstructionIsEmptyAndUsable) {
  Array array = make({1, 2});
  const Array moved = std::move(array);
  EXPECT_EQ(values(moved), (std::vector<int>{1, 2}));
  EXPECT_TRUE(array.empty());  // NOLINT(bugprone-use-after-move): the promise under test
  array.push_back(Tracked(3));
  EXPECT_EQ(values(array), (std::vector<int>{3}));
}

TEST(GrowableArray, HoldsValuesThatCannotBeCopied) {
  GrowableArray<std::unique_ptr<int>> array;
  for (int at = 0; at < 100; ++at) array.insert(0, std::make_unique<int>(at));
  array.erase(50);
  EXPECT_EQ(array.size(), 99U);
  EXPECT_EQ(*array[0], 99);
  EXPECT_EQ(*array[98], 0);
}

TEST(GrowableArray, ClearKeepsTheMemoryAndResetGivesItBack) {
  Array array = make({1, 2, 3});
  const std::size_t used = CountingSource::bytes;
  array.clear();
  EXPECT_EQ(Tracked::alive, 0);
  EXPECT_EQ(CountingSource::bytes, used);
  array.reset();
  EXPECT_EQ(CountingSource::bytes, 0U);
  array.push_back(Tracked(4));
  EXPECT_EQ(values(array), (std::vector<int>{4}));
}

TEST(GrowableArray, RandomOperationsMatchAVectorAndLeakNothing) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    {
      Array array;
      std::vector<int> model;
      for (int step = 0; step < 500; ++step) {
        const auto value = static_cast<int>(random.below(1000));
        const auto at = static_cast<std::uint32_t>(random.below(model.size() + 1));
        switch (random.below(6)) {
          case 0:
            array.push_back(Tracked(value));
            model.push_back(value);
            break;
          case 1:
          case 2:
            array.insert(at, Tracked(value));
            model.insert(model.begin() + at, value);
            break;
          case 3:
            if (at == model.size()) break;
            array.erase(at);
            model.erase(model.begin() + at);
            break;
          case 4:
            array.resize(at);
            model.resize(at);
            break;
          default: {
            Array copy = array;
            array = std::move(copy);
            break;
          }
        }
        ASSERT_EQ(values(array), model);
        ASSERT_EQ(Tracked::alive, static_cast<int>(model.size()));
      }
    }
    EXPECT_EQ(Tracked::alive, 0);
    EXPECT_EQ(CountingSource::bytes, 0U);
  }
}

}  // namespace
}  // namespace deadheat
