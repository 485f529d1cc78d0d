// SPDX-License-Identifier: Apache-2.0
#include "core/sync_clock.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "core/core_fixture.h"

namespace deadheat {
namespace {

constexpr auto kRelaxed = MemoryOrder::kRelaxed;
constexpr auto kAcquire = MemoryOrder::kAcquire;
constexpr auto kRelease = MemoryOrder::kRelease;
constexpr auto kAcqRel = MemoryOrder::kAcqRel;
constexpr auto kCpp11 = ReleaseSequences::kCpp11;
constexpr auto kCpp20 = ReleaseSequences::kCpp20;

// Everything the other thread did up to the given epoch is known.
bool knows(const ThreadClock& thread, Epoch epoch) { return happened_before(epoch, thread); }

// Four threads that know nothing of each other.
class SyncClockTest : public testing::Test {
 protected:
  ThreadClock a = fresh(0);
  ThreadClock b = fresh(1);
  ThreadClock c = fresh(2);
  ThreadClock d = fresh(3);
  const Epoch a1 = a.epoch();
  const Epoch b1 = b.epoch();
  const Epoch c1 = c.epoch();
};
using ThreadClockTest = SyncClockTest;
using LockClockTest = SyncClockTest;
using AtomicClockTest = SyncClockTest;
using FenceTest = SyncClockTest;

TEST_F(ThreadClockTest, StartsInAnEpochThatOnlyItselfKnows) {
  EXPECT_EQ(a.epoch(), Epoch(ThreadSlot{0}, 1));
  EXPECT_TRUE(knows(a, a1));
  EXPECT_FALSE(knows(b, a1));
}

TEST_F(ThreadClockTest, ContinuesTheSlotItInherits) {
  VectorClock inherited;
  inherited.set(ThreadSlot{4}, 9);
  const ThreadClock child(ThreadId{7}, ThreadSlot{4}, inherited);
  EXPECT_EQ(child.epoch(), Epoch(ThreadSlot{4}, 10));
  EXPECT_TRUE(knows(child, Epoch(ThreadSlot{4}, 9)));
}

TEST_F(SyncClockTest, AReleaseEndsTheEpoch) {
  SyncClock object;
  a.release(object);
  EXPECT_EQ(a.epoch(), Epoch(ThreadSlot{0}, 2));
  b.acquire(object);
  EXPECT_TRUE(knows(b, a1));
  EXPECT_FALSE(knows(b, a.epoch()));
}

TEST_F(SyncClockTest, ReleasesOfSeveralThreadsAddUp) {
  SyncClock object;
  a.release(object);
  b.release(object);
  c.acquire(object);
  EXPECT_TRUE(knows(c, a1));
  EXPECT_TRUE(knows(c, b1));
}

TEST_F(SyncClockTest, ReplaceForgetsEarlierReleases) {
  SyncClock object;
  a.release(object);
  object.replace(b.seen(), b.epoch());
  c.acquire(object);
  EXPECT_FALSE(knows(c, a1));
  EXPECT_TRUE(knows(c, b1));
}

TEST_F(SyncClockTest, AClearedObjectHandsOnNothing) {
  SyncClock object;
  a.release(object);
  object.clear();
  EXPECT_TRUE(object.empty());
  EXPECT_TRUE(object.known_to(b.seen()));
  b.acquire(object);
  EXPECT_FALSE(knows(b, a1));
}

TEST_F(SyncClockTest, KnownToIsExactForASingleRelease) {
  SyncClock object;
  a.release(object);
  EXPECT_FALSE(object.known_to(b.seen()));
  b.acquire(object);
  EXPECT_TRUE(object.known_to(b.seen()));
  a.release(object);
  EXPECT_FALSE(object.known_to(b.seen()));
}

TEST_F(SyncClockTest, AnObjectThatGatheredTwoThreadsIsNotKnownThroughOne) {
  SyncClock object;
  SyncClock other;
  a.release(object);
  b.release(object);
  a.release(other);
  c.acquire(other);  // c knows a, not b
  EXPECT_FALSE(object.known_to(c.seen()));
  c.acquire(object);
  EXPECT_TRUE(knows(c, b1));
}

TEST_F(SyncClockTest, ReleasesTakenFromAnotherObjectAddUp) {
  SyncClock from_a;
  SyncClock from_both;
  SyncClock object;
  a.release(from_a);
  a.release(from_both);
  b.release(from_both);
  object.release(SyncClock{});
  EXPECT_TRUE(object.empty());
  c.release(object);
  object.release(from_a);
  object.release(from_both);
  d.acquire(object);
  EXPECT_TRUE(knows(d, a1));
  EXPECT_TRUE(knows(d, b1));
  EXPECT_TRUE(knows(d, c1));
}

// The shortcut may only skip joins that would change nothing: objects with it
// against plain vectors that are always joined.
TEST(SyncClock, TheShortcutNeverLosesAnEdge) {
  constexpr std::uint32_t kThreads = 5;
  constexpr std::uint32_t kObjects = 4;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    std::vector<ThreadClock> threads;
    std::vector<VectorClock> plain_threads(kThreads);
    for (std::uint32_t at = 0; at < kThreads; ++at) {
      threads.push_back(fresh(at));
      plain_threads[at].set(ThreadSlot{at}, 1);
    }
    std::vector<SyncClock> objects(kObjects);
    std::vector<VectorClock> plain_objects(kObjects);
    for (int step = 0; step < 300; ++step) {
      const auto who = static_cast<std::uint32_t>(random.below(kThreads));
      const auto what = static_cast<std::uint32_t>(random.below(kObjects));
      const auto tick = [&] { plain_threads[who].set(ThreadSlot{who}, threads[who].epoch().clock()); };
      switch (random.below(6)) {
        case 0:
        case 1:
          threads[who].acquire(objects[what]);
          plain_threads[who].join(plain_objects[what]);
          break;
        case 2:
          plain_objects[what].join(plain_threads[who]);
          threads[who].release(objects[what]);
          tick();
          break;
        case 3:
          objects[what].replace(threads[who].seen(), threads[who].epoch());
          plain_objects[what] = plain_threads[who];
          threads[who].advance();
          tick();
          break;
        case 4: {
          const auto from = static_cast<std::uint32_t>(random.below(kObjects));
          if (from == what) break;
          objects[what].release(objects[from]);
          plain_objects[what].join(plain_objects[from]);
          break;
        }
        default:
          if (!random.chance(0.1)) break;
          objects[what].clear();
          plain_objects[what].clear();
          break;
      }
      ASSERT_EQ(threads[who].seen(), plain_threads[who]) << "step " << step;
      ASSERT_EQ(objects[what].clock(), plain_objects[what]) << "step " << step;
    }
  }
}

TEST_F(LockClockTest, ExclusiveOrdersExclusive) {
  LockClock lock;
  lock.acquire(a, LockMode::kExclusive);
  lock.release(a, LockMode::kExclusive);
  lock.acquire(b, LockMode::kExclusive);
  EXPECT_TRUE(knows(b, a1));
}

TEST_F(LockClockTest, SharedDoesNotOrderShared) {
  LockClock lock;
  lock.release(a, LockMode::kShared);
  lock.acquire(b, LockMode::kShared);
  EXPECT_FALSE(knows(b, a1));
}

TEST_F(LockClockTest, SharedSeesExclusiveAndExclusiveSeesShared) {
  LockClock lock;
  lock.release(a, LockMode::kExclusive);
  lock.acquire(b, LockMode::kShared);
  EXPECT_TRUE(knows(b, a1));
  lock.release(b, LockMode::kShared);
  lock.acquire(c, LockMode::kExclusive);
  EXPECT_TRUE(knows(c, a1));
  EXPECT_TRUE(knows(c, b1));
}

TEST_F(LockClockTest, AWriterHandsTheReadersBeforeItOn) {
  LockClock lock;
  lock.release(a, LockMode::kShared);
  lock.acquire(b, LockMode::kExclusive);
  lock.release(b, LockMode::kExclusive);
  lock.acquire(c, LockMode::kShared);
  EXPECT_TRUE(knows(c, a1));
}

TEST_F(LockClockTest, AWriterThatDidNotAcquireDoesNotSwallowTheReaders) {
  LockClock lock;
  lock.release(a, LockMode::kShared);
  lock.release(b, LockMode::kExclusive);  // its acquire was ignored
  lock.acquire(c, LockMode::kShared);
  EXPECT_FALSE(knows(c, a1));
  lock.acquire(d, LockMode::kExclusive);
  EXPECT_TRUE(knows(d, a1));
  EXPECT_TRUE(knows(d, b1));
}

// What a thread that loads with acquire order learns.
struct Learned {
  bool a = false;
  bool b = false;
  friend bool operator==(const Learned&, const Learned&) = default;
};

TEST_F(AtomicClockTest, AReleaseStoreReplacesWhateverWasThere) {
  for (const ReleaseSequences rule : {kCpp11, kCpp20}) {
    AtomicClock atomic;
    ThreadClock first = fresh(0);
    ThreadClock second = fresh(1);
    ThreadClock reader = fresh(2);
    atomic.store(first, kRelease, rule);
    atomic.store(second, kRelease, rule);
    atomic.load(reader, kAcquire);
    EXPECT_FALSE(knows(reader, a1));
    EXPECT_TRUE(knows(reader, b1));
  }
}

TEST_F(AtomicClockTest, ARelaxedStoreByAnotherThreadCuts) {
  AtomicClock atomic;
  atomic.store(a, kRelease, kCpp11);
  atomic.store(b, kRelaxed, kCpp11);
  atomic.load(c, kAcquire);
  EXPECT_FALSE(knows(c, a1));
  EXPECT_FALSE(knows(c, b1));
}

TEST_F(AtomicClockTest, ARelaxedStoreByTheSameThreadKeepsUnderCpp11AndCutsUnderCpp20) {
  AtomicClock old_rule;
  old_rule.store(a, kRelease, kCpp11);
  old_rule.store(a, kRelaxed, kCpp11);
  old_rule.load(c, kAcquire);
  EXPECT_TRUE(knows(c, a1));

  AtomicClock new_rule;
  new_rule.store(b, kRelease, kCpp20);
  new_rule.store(b, kRelaxed, kCpp20);
  new_rule.load(d, kAcquire);
  EXPECT_FALSE(knows(d, b1));
}

TEST_F(AtomicClockTest, ARelaxedRmwContinuesUnderBothRules) {
  for (const ReleaseSequences rule : {kCpp11, kCpp20}) {
    AtomicClock atomic;
    ThreadClock head = fresh(0);
    ThreadClock reader = fresh(2);
    atomic.store(head, kRelease, rule);
    atomic.rmw_store(b, kRelaxed, rule);
    atomic.load(reader, kAcquire);
    EXPECT_TRUE(knows(reader, a1));
    EXPECT_FALSE(knows(reader, b1));
  }
}

TEST_F(AtomicClockTest, ARelaxedStoreOfOneOfSeveralHeadsKeepsOnlyItsOwn) {
  // Who stores relaxed after a's release store and b's release RMW, and what
  // remains to be learned.
  const struct {
    std::uint32_t storer;
    Learned learned;
  } cases[] = {{0, {true, false}}, {1, {false, true}}, {3, {false, false}}};
  for (const auto& test : cases) {
    std::vector<ThreadClock> threads = {fresh(0), fresh(1), fresh(2), fresh(3)};
    AtomicClock atomic;
    atomic.store(threads[0], kRelease, kCpp11);
    atomic.rmw_store(threads[1], kRelease, kCpp11);
    atomic.store(threads[test.storer], kRelaxed, kCpp11);
    atomic.load(threads[2], kAcquire);
    EXPECT_EQ((Learned{knows(threads[2], a1), knows(threads[2], b1)}), test.learned) << "storer " << test.storer;
  }
}

TEST_F(AtomicClockTest, TheHeadThatRemainsIsTheSoleOne) {
  AtomicClock atomic;
  atomic.store(a, kRelease, kCpp11);
  atomic.rmw_store(b, kRelease, kCpp11);
  atomic.store(b, kRelaxed, kCpp11);  // only b's sequence goes on
  atomic.store(a, kRelaxed, kCpp11);  // and a ends it
  atomic.load(c, kAcquire);
  EXPECT_FALSE(knows(c, a1));
  EXPECT_FALSE(knows(c, b1));
}

TEST_F(AtomicClockTest, ASecondReleaseRmwOfAHeadRefreshesItsSequence) {
  AtomicClock atomic;
  atomic.store(a, kRelease, kCpp11);
  atomic.rmw_store(b, kRelease, kCpp11);
  const Epoch b2 = b.epoch();
  atomic.rmw_store(b, kRelease, kCpp11);
  atomic.store(b, kRelaxed, kCpp11);
  atomic.load(c, kAcquire);
  EXPECT_TRUE(knows(c, b2));
  EXPECT_FALSE(knows(c, a1));
}

TEST_F(AtomicClockTest, ASoleHeadThatWasCutDoesNotOwnTheNextSequence) {
  AtomicClock atomic;
  atomic.store(a, kRelease, kCpp11);
  atomic.store(b, kRelaxed, kCpp11);      // cuts
  atomic.rmw_store(c, kRelease, kCpp11);  // heads anew
  atomic.store(a, kRelaxed, kCpp11);      // must cut c's sequence
  atomic.load(d, kAcquire);
  EXPECT_FALSE(knows(d, c1));
  EXPECT_FALSE(knows(d, a1));
}

TEST_F(AtomicClockTest, AReleaseStoreAmongSeveralHeadsLeavesOneSequence) {
  AtomicClock atomic;
  atomic.store(a, kRelease, kCpp11);
  atomic.rmw_store(b, kRelease, kCpp11);
  const Epoch a2 = a.epoch();
  atomic.store(a, kRelease, kCpp11);
  atomic.load(c, kAcquire);
  EXPECT_TRUE(knows(c, a2));
  EXPECT_FALSE(knows(c, b1));
}

TEST_F(AtomicClockTest, ReleasingLoadsAndRelaxedLoadsLearnNothing) {
  AtomicClock atomic;
  atomic.store(a, kRelease, kCpp11);
  atomic.load(b, kRelaxed);
  atomic.load(c, kRelease);
  EXPECT_FALSE(knows(b, a1));
  EXPECT_FALSE(knows(c, a1));
}

TEST_F(FenceTest, AReleaseFencePublishesThroughLaterRelaxedStores) {
  AtomicClock atomic;
  a.fence(kRelease);
  const Epoch after_fence = a.epoch();
  EXPECT_NE(after_fence, a1);
  atomic.store(a, kRelaxed, kCpp11);
  atomic.load(b, kAcquire);
  EXPECT_TRUE(knows(b, a1));
  EXPECT_FALSE(knows(b, after_fence));
}

TEST_F(FenceTest, AnAcquireFenceTakesWhatRelaxedLoadsSaw) {
  AtomicClock atomic;
  atomic.store(a, kRelease, kCpp11);
  atomic.load(b, kRelaxed);
  b.fence(kRelease);
  EXPECT_FALSE(knows(b, a1));
  b.fence(kAcquire);
  EXPECT_TRUE(knows(b, a1));
}

TEST_F(FenceTest, AFenceOfBothOrdersAcquiresBeforeItReleases) {
  AtomicClock first;
  AtomicClock second;
  first.store(a, kRelease, kCpp11);
  first.load(b, kRelaxed);
  b.fence(kAcqRel);
  second.store(b, kRelaxed, kCpp11);
  second.load(c, kAcquire);
  EXPECT_TRUE(knows(c, a1));
  EXPECT_TRUE(knows(c, b1));
}

TEST_F(FenceTest, AFencedRmwByAnotherHeadIsDroppedWithIt) {
  AtomicClock atomic;
  atomic.store(a, kRelease, kCpp11);
  b.fence(kRelease);
  atomic.rmw_store(b, kRelaxed, kCpp11);
  atomic.store(a, kRelaxed, kCpp11);
  atomic.load(c, kAcquire);
  EXPECT_TRUE(knows(c, a1));
  EXPECT_FALSE(knows(c, b1));
}

TEST_F(FenceTest, AResetThreadHasNoFenceLeft) {
  a.fence(kRelease);
  a.reset();
  EXPECT_TRUE(a.release_fence().empty());
  EXPECT_EQ(a.epoch(), Epoch(ThreadSlot{0}, 2));
}

}  // namespace
}  // namespace deadheat
