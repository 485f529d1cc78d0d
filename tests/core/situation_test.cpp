// SPDX-License-Identifier: Apache-2.0
#include "core/situation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/random.h"

namespace deadheat {
namespace {

constexpr auto kExclusive = LockMode::kExclusive;
constexpr auto kShared = LockMode::kShared;
using Sites = std::vector<SiteId>;
using Locks = std::vector<HeldLock>;

TEST(SituationTable, TheUnknownSituationHasNoStackAndNoLocks) {
  const SituationTable table;
  EXPECT_TRUE(table.stack(SituationId::kUnknown).empty());
  EXPECT_TRUE(table.locks(SituationId::kUnknown).empty());
}

TEST(SituationTable, EvenAnEmptyTrailHasAKnownSituation) {
  SituationTable table;
  Trail trail;
  EXPECT_NE(table.of(trail), SituationId::kUnknown);
}

TEST(SituationTable, StackIsOutermostFirst) {
  SituationTable table;
  Trail trail;
  table.enter(trail, SiteId{1});
  table.enter(trail, SiteId{2});
  table.enter(trail, SiteId{2});
  EXPECT_EQ(table.stack(table.of(trail)), (Sites{SiteId{1}, SiteId{2}, SiteId{2}}));
  table.leave(trail);
  table.leave(trail);
  EXPECT_EQ(table.stack(table.of(trail)), Sites{SiteId{1}});
}

TEST(SituationTable, LeavingMoreThanEnteredStaysAtTheRoot) {
  SituationTable table;
  Trail trail;
  table.leave(trail);
  table.enter(trail, SiteId{1});
  table.leave(trail);
  table.leave(trail);
  EXPECT_TRUE(table.stack(table.of(trail)).empty());
}

TEST(SituationTable, EqualCircumstancesHaveEqualNumbersAcrossThreads) {
  SituationTable table;
  Trail one;
  Trail other;
  for (Trail* trail : {&one, &other}) {
    table.enter(*trail, SiteId{1});
    table.acquire(*trail, SyncId{5}, kExclusive);
  }
  EXPECT_EQ(table.of(one), table.of(other));
  table.enter(other, SiteId{2});
  EXPECT_NE(table.of(one), table.of(other));
  table.leave(other);
  EXPECT_EQ(table.of(one), table.of(other));
}

TEST(SituationTable, AnUnknownCallSiteIsAFrameToo) {
  SituationTable table;
  Trail trail;
  table.enter(trail, SiteId::kUnknown);
  table.enter(trail, SiteId{3});
  EXPECT_EQ(table.stack(table.of(trail)), (Sites{SiteId::kUnknown, SiteId{3}}));
}

TEST(SituationTable, LocksAreInTheOrderOfAcquisition) {
  SituationTable table;
  Trail trail;
  table.acquire(trail, SyncId{~0ULL}, kExclusive);
  table.acquire(trail, SyncId{0}, kShared);
  EXPECT_EQ(table.locks(table.of(trail)), (Locks{{SyncId{~0ULL}, kExclusive}, {SyncId{0}, kShared}}));
}

TEST(SituationTable, ReleaseOutOfOrderKeepsTheOthersInOrder) {
  SituationTable table;
  Trail trail;
  for (const std::uint64_t lock : {1, 2, 3, 4}) table.acquire(trail, SyncId{lock}, kExclusive);
  table.release(trail, SyncId{2}, kExclusive);
  EXPECT_EQ(table.locks(table.of(trail)),
            (Locks{{SyncId{1}, kExclusive}, {SyncId{3}, kExclusive}, {SyncId{4}, kExclusive}}));
  table.release(trail, SyncId{1}, kExclusive);
  table.release(trail, SyncId{4}, kExclusive);
  EXPECT_EQ(table.locks(table.of(trail)), (Locks{{SyncId{3}, kExclusive}}));
}

TEST(SituationTable, ReleasingWhatIsNotHeldChangesNothing) {
  SituationTable table;
  Trail trail;
  table.acquire(trail, SyncId{1}, kExclusive);
  table.release(trail, SyncId{2}, kExclusive);
  table.release(trail, SyncId{1}, kShared);
  EXPECT_EQ(table.locks(table.of(trail)), (Locks{{SyncId{1}, kExclusive}}));
}

TEST(SituationTable, LocksSurviveCallsAndCallsSurviveLocks) {
  SituationTable table;
  Trail trail;
  table.enter(trail, SiteId{1});
  table.acquire(trail, SyncId{1}, kExclusive);
  table.leave(trail);
  EXPECT_TRUE(table.stack(table.of(trail)).empty());
  EXPECT_EQ(table.locks(table.of(trail)).size(), 1U);
  table.enter(trail, SiteId{2});
  table.release(trail, SyncId{1}, kExclusive);
  EXPECT_EQ(table.stack(table.of(trail)), Sites{SiteId{2}});
  EXPECT_TRUE(table.locks(table.of(trail)).empty());
}

TEST(SituationTable, DeepRecursionIsCutAndUnwindsExactly) {
  SituationTable table;
  Trail trail;
  constexpr std::uint32_t kDeep = SituationTable::kMaxDepth + 1000;
  for (std::uint32_t at = 0; at < kDeep; ++at) table.enter(trail, SiteId{at + 1});
  EXPECT_EQ(table.stack(table.of(trail)).size(), SituationTable::kMaxDepth);
  for (std::uint32_t at = 0; at < 1000; ++at) table.leave(trail);
  EXPECT_EQ(table.stack(table.of(trail)).back(), SiteId{SituationTable::kMaxDepth});
  table.leave(trail);
  EXPECT_EQ(table.stack(table.of(trail)).size(), std::size_t{SituationTable::kMaxDepth} - 1);
  for (std::uint32_t at = 1; at < SituationTable::kMaxDepth; ++at) table.leave(trail);
  EXPECT_TRUE(table.stack(table.of(trail)).empty());
  EXPECT_EQ(table.lost(), 0U);
}

TEST(SituationTable, RandomTrailsMatchPlainVectors) {
  Random random(8);
  SituationTable table;
  Trail trail;
  Sites calls;
  Locks locks;
  for (int step = 0; step < 5000; ++step) {
    const auto number = static_cast<std::uint32_t>(1 + random.below(5));
    const HeldLock lock{SyncId{number}, random.chance(0.5) ? kShared : kExclusive};
    const auto held = std::find(locks.begin(), locks.end(), lock);
    switch (random.below(4)) {
      case 0:
        table.enter(trail, SiteId{number});
        calls.push_back(SiteId{number});
        break;
      case 1:
        table.leave(trail);
        if (!calls.empty()) calls.pop_back();
        break;
      case 2:
        if (held != locks.end()) break;
        table.acquire(trail, lock.lock, lock.mode);
        locks.push_back(lock);
        break;
      default:
        table.release(trail, lock.lock, lock.mode);
        if (held != locks.end()) locks.erase(held);
        break;
    }
    ASSERT_EQ(table.stack(table.of(trail)), calls);
    ASSERT_EQ(table.locks(table.of(trail)), locks);
  }
}

TEST(SituationTable, CollectingKeepsWhatIsInUseUnderItsNumber) {
  SituationTable table;
  Trail kept;
  table.enter(kept, SiteId{1});
  table.enter(kept, SiteId{2});
  table.acquire(kept, SyncId{7}, kExclusive);
  const SituationId in_a_record = table.of(kept);
  table.leave(kept);
  Trail gone;
  for (std::uint32_t site = 10; site < 20; ++site) table.enter(gone, SiteId{site});
  table.of(gone);
  gone = Trail{};

  table.collect([&](auto&& visit) { visit(in_a_record); }, [&](auto&& visit) { visit(kept); });

  EXPECT_EQ(table.stack(in_a_record), (Sites{SiteId{1}, SiteId{2}}));
  EXPECT_EQ(table.locks(in_a_record), (Locks{{SyncId{7}, kExclusive}}));
  EXPECT_EQ(table.stack(table.of(kept)), Sites{SiteId{1}});
  table.enter(kept, SiteId{2});
  EXPECT_EQ(table.of(kept), in_a_record);  // found again, not numbered anew
}

TEST(SituationTable, MemoryOfForgottenSituationsIsUsedAgain) {
  SituationTable table;
  std::uint32_t highest = 0;
  for (std::uint32_t site = 1; site < 1'000'000; ++site) {
    Trail trail;
    table.enter(trail, SiteId{site});
    highest = std::max(highest, raw(table.of(trail)));
    if (table.wants_collection()) table.collect([](auto&&) {}, [](auto&&) {});
  }
  EXPECT_LT(highest, 100'000U);
}

}  // namespace
}  // namespace deadheat
