// SPDX-License-Identifier: Apache-2.0
#include "core/epoch.h"

#include <gtest/gtest.h>

#include "core/vector_clock.h"

namespace deadheat {
namespace {

constexpr ThreadSlot kLastSlot{(1U << 24) - 1};

TEST(Epoch, DefaultIsEmpty) {
  EXPECT_TRUE(Epoch{}.is_empty());
  EXPECT_EQ(Epoch{}.clock(), 0U);
}

TEST(Epoch, KeepsSlotAndClockAtTheirLimits) {
  for (const ThreadSlot slot : {ThreadSlot{0}, ThreadSlot{1}, kLastSlot}) {
    for (const Clock clock : {Clock{0}, Clock{1}, Epoch::kMaxClock}) {
      const Epoch epoch(slot, clock);
      EXPECT_EQ(epoch.slot(), slot);
      EXPECT_EQ(epoch.clock(), clock);
      EXPECT_EQ(epoch.is_empty(), clock == 0);
    }
  }
}

TEST(Epoch, EqualityNeedsBothParts) {
  EXPECT_EQ(Epoch(ThreadSlot{1}, 2), Epoch(ThreadSlot{1}, 2));
  EXPECT_NE(Epoch(ThreadSlot{1}, 2), Epoch(ThreadSlot{2}, 2));
  EXPECT_NE(Epoch(ThreadSlot{1}, 2), Epoch(ThreadSlot{1}, 3));
}

TEST(Epoch, HappenedBeforeComparesWithTheComponentOfItsSlot) {
  VectorClock view;
  view.set(ThreadSlot{3}, 5);
  EXPECT_TRUE(happened_before(Epoch(ThreadSlot{3}, 4), view));
  EXPECT_TRUE(happened_before(Epoch(ThreadSlot{3}, 5), view));
  EXPECT_FALSE(happened_before(Epoch(ThreadSlot{3}, 6), view));
  EXPECT_FALSE(happened_before(Epoch(ThreadSlot{2}, 1), view));
  EXPECT_FALSE(happened_before(Epoch(kLastSlot, 1), view));
}

TEST(Epoch, TheEmptyEpochHappensBeforeEverything) {
  EXPECT_TRUE(happened_before(Epoch{}, VectorClock{}));
  EXPECT_TRUE(happened_before(Epoch(kLastSlot, 0), VectorClock{}));
}

}  // namespace
}  // namespace deadheat
