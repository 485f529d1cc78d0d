// SPDX-License-Identifier: Apache-2.0
#include "core/happens_before.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "support/threads.h"

namespace deadheat {
namespace {

constexpr Address kFlag = 0x1000;

class HappensBeforeTest : public testing::Test {
 protected:
  void fork(ThreadId parent, ThreadId child) { apply(events::on_thread(EventKind::kFork, parent, child)); }
  void join(ThreadId parent, ThreadId child) { apply(events::on_thread(EventKind::kJoin, parent, child)); }
  void detach(ThreadId parent, ThreadId child) { apply(events::on_thread(EventKind::kDetach, parent, child)); }
  void exit(ThreadId thread) { apply(events::plain(EventKind::kThreadExit, thread)); }
  void apply(const Event& event) { order.apply(order.thread(event.thread), event); }
  Epoch now(ThreadId thread) { return order.thread(thread).epoch(); }
  bool knows(ThreadId thread, Epoch epoch) { return happened_before(epoch, order.thread(thread)); }

  HappensBefore order{ReleaseSequences::kCpp11};
};

TEST_F(HappensBeforeTest, RootsKnowNothingOfEachOther) {
  const Epoch main = now(kMain);
  const Epoch other = now(ThreadId{1});
  EXPECT_FALSE(knows(kMain, other));
  EXPECT_FALSE(knows(ThreadId{1}, main));
  EXPECT_EQ(order.slots(), 2U);
}

TEST_F(HappensBeforeTest, AChildKnowsItsParentUpToTheFork) {
  const Epoch before = now(kMain);
  fork(kMain, ThreadId{1});
  EXPECT_TRUE(knows(ThreadId{1}, before));
  EXPECT_FALSE(knows(ThreadId{1}, now(kMain)));
  EXPECT_FALSE(knows(kMain, now(ThreadId{1})));
}

TEST_F(HappensBeforeTest, AForkSeenAfterTheFirstEventOfTheChildStillOrders) {
  (void)now(ThreadId{1});
  const Epoch before = now(kMain);
  fork(kMain, ThreadId{1});
  EXPECT_TRUE(knows(ThreadId{1}, before));
}

TEST_F(HappensBeforeTest, AMillionThreadsOneAfterAnotherUseTwoSlots) {
  constexpr std::uint32_t kCount = 1'000'000;
  std::vector<Epoch> samples;
  for (std::uint32_t at = 1; at <= kCount; ++at) {
    const ThreadId child{at};
    fork(kMain, child);
    if (at % 100'000 == 1) samples.push_back(now(child));
    exit(child);
    join(kMain, child);
  }
  EXPECT_EQ(order.slots(), 2U);
  for (std::uint32_t at = 0; at < samples.size(); ++at) {
    EXPECT_EQ(order.owner(samples[at]), ThreadId{at * 100'000 + 1});
    EXPECT_TRUE(knows(kMain, samples[at]));
  }
}

TEST_F(HappensBeforeTest, ASlotIsContinuedOnlyByAParentThatKnowsTheEnd) {
  fork(kMain, ThreadId{1});
  fork(kMain, ThreadId{2});
  const Epoch ended = now(ThreadId{1});
  exit(ThreadId{1});
  join(kMain, ThreadId{1});
  fork(ThreadId{2}, ThreadId{3});  // 2 has not heard of 1's end
  EXPECT_NE(now(ThreadId{3}).slot(), ended.slot());
  EXPECT_FALSE(knows(ThreadId{3}, ended));
  fork(kMain, ThreadId{4});
  EXPECT_EQ(now(ThreadId{4}).slot(), ended.slot());
  EXPECT_TRUE(knows(ThreadId{4}, ended));
}

TEST_F(HappensBeforeTest, AParentThatHeardOfTheEndThroughOthersMayContinueTheSlot) {
  fork(kMain, ThreadId{1});
  fork(kMain, ThreadId{2});
  const Epoch ended = now(ThreadId{1});
  join(kMain, ThreadId{1});
  apply(events::on_sync(EventKind::kSemaphorePost, kMain, SyncId{9}));
  apply(events::on_sync(EventKind::kSemaphoreWait, ThreadId{2}, SyncId{9}));
  fork(ThreadId{2}, ThreadId{3});
  EXPECT_EQ(now(ThreadId{3}).slot(), ended.slot());
  EXPECT_TRUE(knows(ThreadId{3}, ended));
}

TEST_F(HappensBeforeTest, ASlotIsContinuedByOneThreadAtATime) {
  fork(kMain, ThreadId{1});
  join(kMain, ThreadId{1});
  fork(kMain, ThreadId{2});
  fork(kMain, ThreadId{3});
  EXPECT_NE(now(ThreadId{2}).slot(), now(ThreadId{3}).slot());
  EXPECT_FALSE(knows(ThreadId{2}, now(ThreadId{3})));
  EXPECT_FALSE(knows(ThreadId{3}, now(ThreadId{2})));
}

TEST_F(HappensBeforeTest, AJoinOfAThreadThatExitedAndOfOneThatDidNotFreeTheSlotOnce) {
  fork(kMain, ThreadId{1});
  exit(ThreadId{1});
  join(kMain, ThreadId{1});
  join(kMain, ThreadId{1});  // against the rules, but safe
  fork(kMain, ThreadId{2});
  fork(kMain, ThreadId{3});
  EXPECT_NE(now(ThreadId{2}).slot(), now(ThreadId{3}).slot());
}

TEST_F(HappensBeforeTest, TheEndOfADetachedThreadIsKnownToNobody) {
  fork(kMain, ThreadId{1});
  detach(kMain, ThreadId{1});
  apply(events::on_sync(EventKind::kSemaphorePost, ThreadId{1}, SyncId{9}));
  const Epoch last = now(ThreadId{1});
  exit(ThreadId{1});
  apply(events::on_sync(EventKind::kSemaphoreWait, kMain, SyncId{9}));
  fork(kMain, ThreadId{2});
  EXPECT_NE(now(ThreadId{2}).slot(), last.slot());
  EXPECT_FALSE(knows(ThreadId{2}, last));
}

TEST_F(HappensBeforeTest, DetachAfterExitAndExitAfterDetachAreTheSame) {
  fork(kMain, ThreadId{1});
  fork(kMain, ThreadId{2});
  const Epoch one = now(ThreadId{1});
  const Epoch two = now(ThreadId{2});
  exit(ThreadId{1});
  detach(kMain, ThreadId{1});
  detach(kMain, ThreadId{2});
  exit(ThreadId{2});
  for (std::uint32_t at = 3; at < 10; ++at) {
    fork(kMain, ThreadId{at});
    EXPECT_FALSE(knows(ThreadId{at}, one));
    EXPECT_FALSE(knows(ThreadId{at}, two));
  }
}

TEST_F(HappensBeforeTest, ManyDetachedThreadsDoNotStopTheReuseOfJoinedOnes) {
  for (std::uint32_t at = 1; at <= 200; ++at) {
    fork(kMain, ThreadId{at});
    detach(kMain, ThreadId{at});
    exit(ThreadId{at});
  }
  const std::uint32_t before = order.slots();
  for (std::uint32_t at = 201; at <= 400; ++at) {
    fork(kMain, ThreadId{at});
    join(kMain, ThreadId{at});
  }
  EXPECT_EQ(order.slots(), before + 1);
}

TEST_F(HappensBeforeTest, OwnerTellsTheThreadsOfASlotApart) {
  std::vector<Epoch> first;
  std::vector<Epoch> last;
  for (std::uint32_t at = 1; at <= 5; ++at) {
    fork(kMain, ThreadId{at});
    first.push_back(now(ThreadId{at}));
    for (std::uint32_t post = 0; post < at; ++post) {
      apply(events::on_sync(EventKind::kSemaphorePost, ThreadId{at}, SyncId{9}));
    }
    last.push_back(now(ThreadId{at}));
    join(kMain, ThreadId{at});
  }
  ASSERT_EQ(order.slots(), 2U);
  for (std::uint32_t at = 0; at < 5; ++at) {
    EXPECT_EQ(order.owner(first[at]), ThreadId{at + 1});
    EXPECT_EQ(order.owner(last[at]), ThreadId{at + 1});
  }
  EXPECT_EQ(order.owner(now(kMain)), kMain);
}

TEST_F(HappensBeforeTest, WhatAnEndedThreadPublishedDoesNotSpeakForItsSuccessor) {
  fork(kMain, ThreadId{9});
  fork(kMain, ThreadId{1});
  apply(events::on_sync(EventKind::kSemaphorePost, ThreadId{1}, SyncId{5}));
  join(kMain, ThreadId{1});
  fork(kMain, ThreadId{2});
  apply(events::on_sync(EventKind::kSemaphoreWait, ThreadId{9}, SyncId{5}));
  EXPECT_FALSE(knows(ThreadId{9}, now(ThreadId{2})));
}

TEST_F(HappensBeforeTest, OnlyTheOutermostLockEventsOrder) {
  const Epoch main = now(kMain);
  apply(events::acquire(kMain, SyncId{1}));
  apply(events::acquire(kMain, SyncId{1}, LockMode::kExclusive, 2));
  apply(events::release(kMain, SyncId{1}, LockMode::kExclusive, 2));
  EXPECT_EQ(now(kMain), main);
  apply(events::release(kMain, SyncId{1}));
  EXPECT_NE(now(kMain), main);
  apply(events::acquire(ThreadId{1}, SyncId{1}, LockMode::kExclusive, 2));
  EXPECT_FALSE(knows(ThreadId{1}, main));
  apply(events::acquire(ThreadId{1}, SyncId{1}));
  EXPECT_TRUE(knows(ThreadId{1}, main));
}

TEST_F(HappensBeforeTest, FamiliesWithTheSameNumberAreSeparate) {
  const SyncId number{7};
  const Epoch main = now(kMain);
  apply(events::acquire(kMain, number));
  apply(events::release(kMain, number));
  for (const EventKind kind : {EventKind::kSemaphoreWait, EventKind::kOnceObserve, EventKind::kHappensAfter}) {
    apply(events::on_sync(kind, ThreadId{1}, number));
  }
  apply(events::barrier(EventKind::kBarrierLeave, ThreadId{1}, number, 0));
  EXPECT_FALSE(knows(ThreadId{1}, main));
}

TEST_F(HappensBeforeTest, ForgettingAtomicsIsExactAtBothEnds) {
  const auto store = [&](ThreadId thread, Address address) {
    order.atomic_release(order.thread(thread),
                         events::atomic(EventKind::kAtomicStore, thread, address, 1, MemoryOrder::kRelease));
  };
  const auto load = [&](ThreadId thread, Address address) {
    order.atomic_acquire(order.thread(thread),
                         events::atomic(EventKind::kAtomicLoad, thread, address, 1, MemoryOrder::kAcquire));
  };
  // A small range goes byte by byte, a huge one by the atomics there are.
  for (const std::uint64_t size : {std::uint64_t{2}, std::uint64_t{1} << 40}) {
    order = HappensBefore(ReleaseSequences::kCpp11);
    const Address inside = kFlag + size - 1;
    std::uint32_t reader = 10;
    const Epoch main = now(kMain);
    for (const Address address : {kFlag - 1, kFlag, inside, kFlag + size}) store(kMain, address);
    order.forget_atomics(kFlag, size);
    const auto survived = [&](Address address) {
      const ThreadId thread{reader++};
      load(thread, address);
      return knows(thread, main);
    };
    EXPECT_TRUE(survived(kFlag - 1));
    EXPECT_FALSE(survived(kFlag));
    EXPECT_FALSE(survived(inside));
    EXPECT_TRUE(survived(kFlag + size));
  }
}

}  // namespace
}  // namespace deadheat
