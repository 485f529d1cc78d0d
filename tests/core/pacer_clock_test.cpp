// SPDX-License-Identifier: Apache-2.0
// Tables 5 to 7 of the PACER paper (Algorithms 9 to 11 and 16), rule by rule.
#include "core/pacer_clock.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "core/happens_before.h"
#include "core/sync_clock.h"
#include "support/threads.h"

namespace deadheat {
namespace {

class PacerClockTest : public testing::Test {
 protected:
  using Thread = PacerThreadClock<>;
  using Sync = PacerSyncClock<>;

  Thread make(std::uint32_t number) { return {common, ThreadId{number}, ThreadSlot{number}, nullptr}; }
  [[nodiscard]] const ClockCounters::InPeriod& outside() const { return common.counters.outside; }
  [[nodiscard]] const ClockCounters::InPeriod& sampling() const { return common.counters.sampling; }

  Thread::Common common;
  Thread t = make(0);
  Thread u = make(1);
  Thread w = make(2);
  Sync m;
};

TEST_F(PacerClockTest, EnteringAndLeavingAPeriodBeginNewEpochsAndVersions) {  // Table 5
  const Epoch before = t.epoch();
  const Version version = t.version_epoch().version;
  t.enter_sampling();
  EXPECT_TRUE(t.is_sampling());
  EXPECT_EQ(t.epoch().clock(), before.clock() + 1);
  EXPECT_GT(t.version_epoch().version, version);
  t.enter_sampling();  // no second time
  EXPECT_EQ(t.epoch().clock(), before.clock() + 1);
  t.leave_sampling();
  EXPECT_FALSE(t.is_sampling());
  EXPECT_EQ(t.epoch().clock(), before.clock() + 2);
}

TEST_F(PacerClockTest, ACopyOutsideSamplingIsSharedAndTimeStandsStill) {  // Table 7, rules 1 and 2
  const Epoch before = t.epoch();
  const VersionEpoch version = t.version_epoch();
  t.release(m);
  EXPECT_TRUE(m.is_shared());
  EXPECT_EQ(m.source(), version);
  EXPECT_EQ(t.epoch(), before);
  EXPECT_EQ(t.version_epoch(), version);
  EXPECT_EQ(outside().shallow_copies, 1U);
  EXPECT_EQ(outside().deep_copies, 0U);
}

TEST_F(PacerClockTest, ACopyWhileSamplingIsDeepAndTimeGoesOn) {  // Table 7, rules 1 and 3
  t.enter_sampling();
  const Epoch before = t.epoch();
  const VersionEpoch version = t.version_epoch();
  t.release(m);
  EXPECT_FALSE(m.is_shared());
  EXPECT_EQ(m.source(), version);
  EXPECT_EQ(m.clock().clock_of(before.slot()), before.clock());
  EXPECT_EQ(t.epoch().clock(), before.clock() + 1);
  EXPECT_GT(t.version_epoch().version, version.version);
  EXPECT_EQ(sampling().deep_copies, 1U);
  EXPECT_EQ(sampling().shallow_copies, 0U);
}

TEST_F(PacerClockTest, AChangeOfASharedClockLeavesTheObjectAlone) {  // Algorithm 10
  t.release(m);
  const Epoch published = t.epoch();
  t.enter_sampling();
  EXPECT_EQ(m.clock().clock_of(published.slot()), published.clock());
  EXPECT_EQ(outside().deep_copies, 1U);
}

TEST_F(PacerClockTest, AVersionThatWasReceivedIsNotJoinedAgain) {  // Table 7, rule 4
  t.release(m);
  u.acquire(m);
  EXPECT_EQ(outside().slow_joins, 1U);
  const VersionEpoch version = u.version_epoch();
  u.acquire(m);
  u.acquire(m);
  EXPECT_EQ(outside().slow_joins, 1U);
  EXPECT_EQ(outside().fast_joins, 2U);
  EXPECT_EQ(u.version_epoch(), version);
}

TEST_F(PacerClockTest, AnOwnReleaseIsNotJoined) {
  t.release(m);
  t.acquire(m);
  EXPECT_EQ(outside().fast_joins, 1U);
  EXPECT_EQ(outside().slow_joins, 0U);
}

TEST_F(PacerClockTest, AClockThatBringsNothingNewOnlyRaisesTheVersion) {  // Table 7, rule 5
  Sync k;
  t.release(m);
  u.acquire(m);  // u knows t
  w.release(k);
  t.acquire(k);  // a new version of t, with w in it
  u.acquire(k);  // which u knows from elsewhere
  t.release(m);
  const VersionEpoch version = u.version_epoch();
  u.acquire(m);
  EXPECT_EQ(u.version_epoch(), version);
  EXPECT_EQ(u.version_of(ThreadSlot{0}), t.version_epoch().version);
  EXPECT_EQ(outside().fast_joins, 0U);
  u.acquire(m);
  EXPECT_EQ(outside().fast_joins, 1U);
}

TEST_F(PacerClockTest, AClockThatBringsNewsMakesANewVersion) {  // Table 7, rule 6
  t.release(m);
  const VersionEpoch before = u.version_epoch();
  u.acquire(m);
  EXPECT_TRUE(happened_before(t.epoch(), u));
  EXPECT_GT(u.version_epoch().version, before.version);
  EXPECT_EQ(u.version_of(ThreadSlot{0}), t.version_epoch().version);
}

TEST_F(PacerClockTest, AReleaseIntoWhatTheThreadKnowsIsACopy) {  // Table 7, rules 7 and 8
  t.release(m);
  u.acquire(m);
  u.release(m);
  EXPECT_EQ(m.source(), u.version_epoch());
  EXPECT_TRUE(m.is_shared());
}

TEST_F(PacerClockTest, AReleaseIntoWhatItDoesNotKnowLosesNothingAndHasNoVersion) {  // Table 7, rule 9
  t.release(m);
  u.release(m);
  EXPECT_TRUE(m.source().is_null());
  w.acquire(m);
  EXPECT_TRUE(happened_before(t.epoch(), w));
  EXPECT_TRUE(happened_before(u.epoch(), w));
  // Without a version every acquire compares.
  const std::uint64_t slow = outside().slow_joins;
  w.acquire(m);
  EXPECT_EQ(outside().slow_joins, slow + 1);
}

TEST_F(PacerClockTest, TwoThreadsThatTakeTurnsAtALockSettle) {
  for (int round = 0; round < 3; ++round) {
    t.acquire(m);
    t.release(m);
    u.acquire(m);
    u.release(m);
  }
  const std::uint64_t slow = outside().slow_joins;
  const std::uint64_t deep = outside().deep_copies;
  for (int round = 0; round < 100; ++round) {
    t.acquire(m);
    t.release(m);
    u.acquire(m);
    u.release(m);
  }
  EXPECT_EQ(outside().slow_joins, slow);
  EXPECT_EQ(outside().deep_copies, deep);
}

TEST_F(PacerClockTest, ReadersAndWritersOfALockSettle) {
  LockClockOf<PacerClocks<>> lock;
  const auto round = [&] {
    for (Thread* reader : {&t, &u}) {
      lock.acquire(*reader, LockMode::kShared);
      lock.release(*reader, LockMode::kShared);
    }
    lock.acquire(w, LockMode::kExclusive);
    lock.release(w, LockMode::kExclusive);
  };
  for (int warm = 0; warm < 5; ++warm) round();
  const std::uint64_t slow = outside().slow_joins;
  for (int more = 0; more < 100; ++more) round();
  EXPECT_EQ(outside().slow_joins, slow);
}

TEST_F(PacerClockTest, FencesPublishAndLearnAsForEveryFamily) {
  AtomicClockOf<PacerClocks<>> flag;
  t.enter_sampling();
  const Epoch before = t.epoch();
  t.fence(MemoryOrder::kRelease);
  const Epoch after = t.epoch();
  flag.store(t, MemoryOrder::kRelaxed, ReleaseSequences::kCpp11);
  flag.load(u, MemoryOrder::kRelaxed);
  EXPECT_FALSE(happened_before(before, u));
  u.fence(MemoryOrder::kAcquire);
  EXPECT_TRUE(happened_before(before, u));
  EXPECT_FALSE(happened_before(after, u));
}

TEST_F(PacerClockTest, AChildKnowsItsParentAndTheVersionsOfItsParent) {
  t.release(m);
  u.acquire(m);
  const Thread child(common, ThreadId{7}, ThreadSlot{7}, &u);
  EXPECT_TRUE(happened_before(t.epoch(), child));
  EXPECT_TRUE(happened_before(u.epoch(), child));
  EXPECT_EQ(child.version_of(ThreadSlot{0}), t.version_epoch().version);
  EXPECT_EQ(child.version_of(ThreadSlot{1}), u.version_epoch().version);
  EXPECT_FALSE(child.is_sampling());
}

// A slot in two hands: versions name contents, so they may not go on from a thread
// whose last clock its successor does not have.
TEST(PacerOrder, ASlotIsNotContinuedByWhoKnowsTheEpochButNotTheEnd) {
  BasicHappensBefore<PacerClocks<>> order{ReleaseSequences::kCpp11};
  const ThreadId parent{1};
  const ThreadId ended{2};
  const auto apply = [&](const Event& event) { order.apply(order.thread(event.thread), event); };
  const auto fork = [&](ThreadId who, ThreadId child) { apply(events::on_thread(EventKind::kFork, who, child)); };
  fork(kMain, parent);
  fork(kMain, ended);
  const Epoch epoch = order.thread(ended).epoch();
  apply(events::acquire(ended, SyncId{1}));
  apply(events::release(ended, SyncId{1}));
  apply(events::acquire(parent, SyncId{1}));  // knows the epoch, which goes on
  EXPECT_TRUE(happened_before(epoch, order.thread(parent)));
  EXPECT_EQ(order.thread(ended).epoch(), epoch);
  apply(events::on_thread(EventKind::kJoin, kMain, ended));
  fork(parent, ThreadId{3});
  EXPECT_NE(order.thread(ThreadId{3}).epoch().slot(), epoch.slot());
  fork(kMain, ThreadId{4});
  EXPECT_EQ(order.thread(ThreadId{4}).epoch().slot(), epoch.slot());
}

TEST(PacerOrder, AMillionThreadsOneAfterAnotherUseTwoSlots) {
  BasicHappensBefore<PacerClocks<>> order{ReleaseSequences::kCpp11};
  for (std::uint32_t at = 1; at <= 1'000'000; ++at) {
    order.apply(order.thread(kMain), events::on_thread(EventKind::kFork, kMain, ThreadId{at}));
    order.apply(order.thread(ThreadId{at}), events::plain(EventKind::kThreadExit, ThreadId{at}));
    order.apply(order.thread(kMain), events::on_thread(EventKind::kJoin, kMain, ThreadId{at}));
  }
  EXPECT_EQ(order.slots(), 2U);
}

}  // namespace
}  // namespace deadheat
