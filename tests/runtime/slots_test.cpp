// SPDX-License-Identifier: Apache-2.0
#include "runtime/slots.h"

#include <gtest/gtest.h>

#include "runtime/stand_in.h"

namespace deadheat::runtime {
namespace {

class SlotsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!start_stand_in()) GTEST_SKIP() << "no room for the shadow in this process";
  }
  static void end(ThreadState* thread) {
    SpinHolder hold(registry().lock);
    registry().remove(thread);
  }
};

TEST_F(SlotsTest, ShortEpochsGoBackToFullClocks) {
  ThreadState* thread = registry().add(current.state, 0, 0);
  const Epoch epoch = thread->clock.epoch();
  EXPECT_EQ(full_clock(short_epoch(epoch)), epoch.clock());
  EXPECT_EQ(short_epoch(epoch).slot(), epoch.slot());
  EXPECT_NE(raw(epoch.slot()), 0U);
  end(thread);
}

TEST_F(SlotsTest, LivingThreadsHaveDifferentSlots) {
  ThreadState* one = registry().add(current.state, 0, 0);
  ThreadState* other = registry().add(current.state, 0, 0);
  EXPECT_NE(one->clock.epoch().slot(), other->clock.epoch().slot());
  end(one);
  end(other);
}

TEST_F(SlotsTest, WhoKnowsAllOfASlotGoesOnWithIt) {
  ThreadState* ended = registry().add(current.state, 0, 0);
  const Epoch last = ended->clock.epoch();
  RuntimeClock joined = ended->clock.seen();
  end(ended);
  ThreadSlot slot{};
  {
    SpinHolder hold(registry().lock);
    slot = take_slot(joined, ThreadId{90'001});
  }
  EXPECT_EQ(slot, last.slot());
  {
    SpinHolder hold(registry().lock);
    EXPECT_EQ(slot_owner(slot, last.clock() + 1), ThreadId{90'001});
    EXPECT_NE(slot_owner(slot, last.clock()), ThreadId{90'001}) << "the past is the old owner's";
    retire_slot(slot, last.clock() + 1);
  }
}

TEST_F(SlotsTest, SlotWithAnUnknownPastIsNotContinued) {
  ThreadState* ended = registry().add(current.state, 0, 0);
  const Epoch last = ended->clock.epoch();
  end(ended);
  SpinHolder hold(registry().lock);
  const ThreadSlot slot = take_slot(RuntimeClock{}, ThreadId{90'002});
  EXPECT_NE(slot, last.slot());
  retire_slot(slot, known_to_all(slot) + 1);
}

TEST_F(SlotsTest, KnownToAllIsWhatTheLeastInformedThreadKnows) {
  ThreadState* one = registry().add(current.state, 0, 0);
  ThreadState* other = registry().add(current.state, 0, 0);
  const Epoch epoch = one->clock.epoch();
  {
    SpinHolder hold(registry().lock);
    refresh_known_to_all();
    EXPECT_LT(known_to_all(epoch.slot()), epoch.clock()) << "the other does not know";
  }
  other->clock.acquire(one->clock.seen());
  {
    SpinHolder hold(registry().lock);
    refresh_known_to_all();
    EXPECT_LT(known_to_all(epoch.slot()), epoch.clock()) << "the main thread does not know";
  }
  current.state->clock.acquire(one->clock.seen());
  {
    SpinHolder hold(registry().lock);
    refresh_known_to_all();
    EXPECT_EQ(known_to_all(epoch.slot()), epoch.clock());
  }
  end(one);
  end(other);
}

}  // namespace
}  // namespace deadheat::runtime
