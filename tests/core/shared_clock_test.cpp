// SPDX-License-Identifier: Apache-2.0
#include "core/shared_clock.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace deadheat {
namespace {

constexpr ThreadSlot kOnlySlot{3};

SharedClock clock_at(Clock clock) {
  SharedClock result;
  result.own().set(kOnlySlot, clock);
  return result;
}

TEST(SharedClock, IsTheClockOfZerosAtFirst) {
  const SharedClock clock;
  EXPECT_TRUE(clock.is_empty());
  EXPECT_FALSE(clock.is_shared());
  EXPECT_EQ(clock.value().clock_of(kOnlySlot), 0U);
}

TEST(SharedClock, ACopyIsTheSameClockUntilOneChanges) {
  SharedClock one = clock_at(5);
  SharedClock other = one;
  EXPECT_TRUE(one.is_shared());
  EXPECT_TRUE(other.is_same_as(one));
  other.own().set(kOnlySlot, 6);
  EXPECT_FALSE(one.is_shared());
  EXPECT_FALSE(other.is_shared());
  EXPECT_EQ(one.value().clock_of(kOnlySlot), 5U);
  EXPECT_EQ(other.value().clock_of(kOnlySlot), 6U);
}

TEST(SharedClock, TheLastHolderChangesItInPlace) {
  SharedClock one = clock_at(5);
  {
    const SharedClock other = one;
  }
  const VectorClock* const before = &one.value();
  one.own().set(kOnlySlot, 6);
  EXPECT_EQ(&one.value(), before);
}

TEST(SharedClock, AssigningCopiesIntoItsOwnMemoryButNotIntoThatOfOthers) {
  VectorClock value;
  value.set(kOnlySlot, 9);
  SharedClock one = clock_at(5);
  const VectorClock* const before = &one.value();
  one.assign(value);
  EXPECT_EQ(&one.value(), before);
  const SharedClock other = one;
  value.set(kOnlySlot, 10);
  one.assign(value);
  EXPECT_EQ(one.value().clock_of(kOnlySlot), 10U);
  EXPECT_EQ(other.value().clock_of(kOnlySlot), 9U);
}

TEST(SharedClock, MovesAndResetsKeepTheCountRight) {
  SharedClock one = clock_at(5);
  SharedClock moved = std::move(one);
  EXPECT_FALSE(moved.is_shared());
  std::vector<SharedClock> many(10, moved);
  EXPECT_TRUE(moved.is_shared());
  for (SharedClock& holder : many) holder.reset();
  EXPECT_FALSE(moved.is_shared());
  moved = SharedClock(moved);
  EXPECT_EQ(moved.value().clock_of(kOnlySlot), 5U);
  EXPECT_FALSE(moved.is_shared());
}

}  // namespace
}  // namespace deadheat
