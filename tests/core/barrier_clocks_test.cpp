// SPDX-License-Identifier: Apache-2.0
#include "core/barrier_clocks.h"

#include <gtest/gtest.h>

#include "core/core_fixture.h"

namespace deadheat {
namespace {

constexpr SyncId kBarrier{7};

class BarrierClocksTest : public testing::Test {
 protected:
  ThreadClock a = fresh(0);
  ThreadClock b = fresh(1);
  ThreadClock c = fresh(2);
  const Epoch a1 = a.epoch();
  const Epoch b1 = b.epoch();
  BarrierClocks barriers;
};

TEST_F(BarrierClocksTest, EveryArrivalOfAPhaseComesBeforeEveryLeave) {
  barriers.arrive(a, kBarrier, 0);
  barriers.arrive(b, kBarrier, 0);
  barriers.leave(a, kBarrier, 0);
  barriers.leave(b, kBarrier, 0);
  EXPECT_TRUE(happened_before(b1, a));
  EXPECT_TRUE(happened_before(a1, b));
}

TEST_F(BarrierClocksTest, AFastThreadInTheNextPhaseDoesNotLeakIntoThisOne) {
  barriers.arrive(a, kBarrier, 0);
  barriers.arrive(b, kBarrier, 0);
  barriers.leave(a, kBarrier, 0);
  const Epoch between = a.epoch();
  barriers.arrive(a, kBarrier, 1);
  barriers.leave(b, kBarrier, 0);
  EXPECT_TRUE(happened_before(a1, b));
  EXPECT_FALSE(happened_before(between, b));
}

TEST_F(BarrierClocksTest, ALaterPhaseStartsEmpty) {
  barriers.arrive(a, kBarrier, 0);
  barriers.arrive(b, kBarrier, 2);
  barriers.leave(b, kBarrier, 2);
  EXPECT_FALSE(happened_before(a1, b));
}

TEST_F(BarrierClocksTest, ATokenOfTheLastPhaseMayBeWaitedForAfterTheNextArrival) {
  barriers.arrive(a, kBarrier, 0);
  barriers.arrive(b, kBarrier, 0);
  barriers.arrive(b, kBarrier, 1);
  barriers.leave(b, kBarrier, 0);
  EXPECT_TRUE(happened_before(a1, b));
}

TEST_F(BarrierClocksTest, WhoDidNotArriveLearnsNothing) {
  barriers.arrive(a, kBarrier, 0);
  barriers.leave(c, kBarrier, 0);
  EXPECT_FALSE(happened_before(a1, c));
}

TEST_F(BarrierClocksTest, ALateLeaverOfADestroyedBarrierSeesItsOwnPhaseAndNotTheSuccessors) {
  barriers.arrive(a, kBarrier, 0);
  barriers.arrive(b, kBarrier, 0);
  barriers.leave(a, kBarrier, 0);
  barriers.destroy(kBarrier);
  const Epoch c1 = c.epoch();
  barriers.arrive(c, kBarrier, 0);
  barriers.leave(b, kBarrier, 0);
  EXPECT_TRUE(happened_before(a1, b));
  EXPECT_FALSE(happened_before(c1, b));
}

}  // namespace
}  // namespace deadheat
