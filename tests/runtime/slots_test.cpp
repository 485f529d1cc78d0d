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
  other->clock.acquire(one->clock);
  {
    SpinHolder hold(registry().lock);
    refresh_known_to_all();
    EXPECT_LT(known_to_all(epoch.slot()), epoch.clock()) << "the main thread does not know";
  }
  current.state->clock.acquire(one->clock);
  {
    SpinHolder hold(registry().lock);
    refresh_known_to_all();
    EXPECT_EQ(known_to_all(epoch.slot()), epoch.clock());
  }
  end(one);
  end(other);
}

TEST_F(SlotsTest, WhoKnowsALaterSlotOfAThreadKnowsItsEarlierOnes) {
  const auto entry_in = [](ThreadSlot slot, std::uint64_t clock) {
    return CellEntry(short_epoch(Epoch(slot, clock)), 0xff, AccessKind::kRead, OriginId{1});
  };
  SpinHolder hold(registry().lock);
  const ThreadSlot earlier = take_slot(RuntimeClock{}, ThreadId{90'003});
  const ThreadSlot later = take_slot(RuntimeClock{}, ThreadId{90'003});
  const ThreadSlot foreign = take_slot(RuntimeClock{}, ThreadId{90'004});
  const auto began = [](ThreadSlot slot) { return slot_since[raw(slot)].load(std::memory_order_relaxed); };
  const CellEntry old_entry = entry_in(earlier, began(earlier) + 9);
  const CellEntry new_entry = entry_in(later, began(later));
  EXPECT_TRUE(is_known_with(old_entry, new_entry));
  EXPECT_FALSE(is_known_with(new_entry, old_entry));
  EXPECT_FALSE(is_known_with(old_entry, entry_in(foreign, began(foreign))));
  EXPECT_TRUE(is_known_with(old_entry, entry_in(earlier, began(earlier) + 10))) << "the same slot";
  // The thread goes back to its first slot: what it did there before is no sign of
  // knowing the second.
  RuntimeClock knows_all;
  knows_all.set(earlier, began(earlier) + 9);
  retire_slot(earlier, began(earlier) + 9);
  ASSERT_EQ(take_slot(knows_all, ThreadId{90'003}), earlier);
  EXPECT_FALSE(is_known_with(new_entry, old_entry));
  EXPECT_TRUE(is_known_with(new_entry, entry_in(earlier, began(earlier))));
  for (const ThreadSlot slot : {earlier, later, foreign}) retire_slot(slot, began(slot) + 9);
}

}  // namespace
}  // namespace deadheat::runtime
