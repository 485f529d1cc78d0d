// SPDX-License-Identifier: Apache-2.0
#include "core/race_collector.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace deadheat {
namespace {

using Ranges = std::vector<Detector::Range>;

RawAccess side(AccessKind kind, std::uint32_t thread, std::uint32_t site, std::uint64_t size = 8) {
  return {
      kind, ThreadId{thread},
      AccessRecord(Epoch(ThreadSlot{thread}, 10 + thread), SiteId{site}, SituationId{}, size, WriteFlavour::kStore)};
}

class RaceCollectorTest : public testing::Test {
 protected:
  void add(const RawAccess& earlier, const RawAccess& later, const Touched& touched, std::uint64_t event) {
    collector.add(earlier, later, later.record.size(), touched, event);
  }

  SituationTable situations;
  RaceCollector collector{situations};
  const RawAccess write_a = side(AccessKind::kWrite, 1, 100);
  const RawAccess write_b = side(AccessKind::kWrite, 2, 200);
  const RawAccess read_b = side(AccessKind::kRead, 2, 200);
  const RawAccess unknown_a = side(AccessKind::kWrite, 1, 0, 16);
  const RawAccess unknown_b = side(AccessKind::kWrite, 2, 0, 16);
};

TEST_F(RaceCollectorTest, AFindingSaysWhoWhatAndWhere) {
  add(write_a, read_b, {0x1000, 8, 0x3c}, 17);
  ASSERT_EQ(collector.findings().size(), 1U);
  const Finding& finding = collector.findings()[0];
  EXPECT_EQ(finding.kind, RaceKind::kWriteRead);
  EXPECT_EQ(finding.earlier.thread, ThreadId{1});
  EXPECT_EQ(finding.earlier.clock, 11U);
  EXPECT_EQ(finding.earlier.kind, AccessKind::kWrite);
  EXPECT_EQ(finding.earlier.site, SiteId{100});
  EXPECT_EQ(finding.earlier.size, 8U);
  EXPECT_EQ(finding.later.thread, ThreadId{2});
  EXPECT_EQ(finding.later.kind, AccessKind::kRead);
  EXPECT_EQ(finding.later.site, SiteId{200});
  EXPECT_EQ(finding.address, 0x1002U);
  EXPECT_EQ(finding.size, 4U);
  EXPECT_EQ(finding.event_index, 17U);
  EXPECT_EQ(finding.occurrences, 1U);
}

TEST_F(RaceCollectorTest, TheSamePairElsewhereIsAnotherFinding) {
  add(write_a, write_b, {0x1000, 8, 0xff}, 1);
  add(write_a, write_b, {0x2000, 8, 0xff}, 2);
  add(write_a, write_b, {0x1000, 8, 0xff}, 3);
  ASSERT_EQ(collector.findings().size(), 2U);
  EXPECT_EQ(collector.findings()[0].occurrences, 2U);
  EXPECT_EQ(collector.findings()[0].address, 0x1000U);
  EXPECT_EQ(collector.findings()[0].size, 8U);
  EXPECT_EQ(collector.findings()[1].address, 0x2000U);
  EXPECT_EQ(collector.racy_bytes(), (Ranges{{0x1000, 0x1008}, {0x2000, 0x2008}}));
}

TEST_F(RaceCollectorTest, OfAnArraySomeElementsAreToldAndAllCounted) {
  std::uint64_t event = 0;
  for (Address at = 0; at < 1000; ++at) add(write_a, write_b, {0x1000 + 8 * at, 8, 0xff}, ++event);
  add(write_a, write_b, {0x9000, 8, 0xff}, ++event);
  const std::vector<Finding>& findings = collector.findings();
  EXPECT_LE(findings.size(), 20U);
  EXPECT_EQ(findings.back().address, 0x9000U) << "another variable is not lost behind it";
  std::uint64_t occurrences = 0;
  for (const Finding& finding : findings) occurrences += finding.occurrences;
  EXPECT_EQ(occurrences, 1001U);
}

TEST_F(RaceCollectorTest, SitesKindsAndOrderMakeDifferentFindings) {
  add(write_a, write_b, {0x1000, 8, 0xff}, 1);
  add(write_b, write_a, {0x1000, 8, 0xff}, 2);
  add(write_a, read_b, {0x1000, 8, 0xff}, 3);
  add(side(AccessKind::kAtomicWrite, 1, 100), read_b, {0x1000, 8, 0xff}, 4);
  add(side(AccessKind::kWrite, 1, 101), write_b, {0x1000, 8, 0xff}, 5);
  EXPECT_EQ(collector.findings().size(), 5U);
}

TEST_F(RaceCollectorTest, OneEventThatMeetsSeveralThreadsAtOneSiteIsOneOccurrence) {
  add(side(AccessKind::kRead, 3, 100), write_b, {0x1000, 8, 0xff}, 1);
  add(side(AccessKind::kRead, 4, 100), write_b, {0x1000, 8, 0xff}, 1);
  ASSERT_EQ(collector.findings().size(), 1U);
  EXPECT_EQ(collector.findings()[0].occurrences, 1U);
}

TEST_F(RaceCollectorTest, AnAccessOverSeveralWordsIsOneFindingOfItsWholeSize) {
  add(write_a, write_b, {0x1000, 8, 0xf8}, 1);
  add(write_a, write_b, {0x1008, 8, 0xff}, 1);
  add(write_a, write_b, {0x1010, 8, 0x01}, 1);
  ASSERT_EQ(collector.findings().size(), 1U);
  EXPECT_EQ(collector.findings()[0].address, 0x1003U);
  EXPECT_EQ(collector.findings()[0].size, 14U);
  EXPECT_EQ(collector.findings()[0].occurrences, 1U);
}

TEST_F(RaceCollectorTest, ALaterOccurrenceDoesNotChangeTheSizeOfTheFirst) {
  add(write_a, write_b, {0x1000, 8, 0xff}, 1);
  add(write_a, write_b, {0x1008, 8, 0xff}, 2);
  EXPECT_EQ(collector.findings()[0].size, 8U);
}

TEST_F(RaceCollectorTest, WithoutSitesTheAddressTellsFindingsApart) {
  add(unknown_a, unknown_b, {0x1000, 8, 0xff}, 1);
  add(unknown_a, unknown_b, {0x2000, 8, 0xff}, 2);
  add(unknown_a, unknown_b, {0x1000, 8, 0xff}, 3);
  ASSERT_EQ(collector.findings().size(), 2U);
  EXPECT_EQ(collector.findings()[0].occurrences, 2U);
}

TEST_F(RaceCollectorTest, WithoutSitesAWideAccessIsStillOneFinding) {
  add(unknown_a, unknown_b, {0x1000, 8, 0xff}, 1);
  add(unknown_a, unknown_b, {0x1008, 8, 0xff}, 1);
  ASSERT_EQ(collector.findings().size(), 1U);
  EXPECT_EQ(collector.findings()[0].size, 16U);
}

TEST_F(RaceCollectorTest, RunsOfAMaskAreSeparateBytes) {
  add(write_a, write_b, {0x1000, 8, 0b1010'0011}, 1);
  EXPECT_EQ(collector.racy_bytes(), (Ranges{{0x1000, 0x1002}, {0x1005, 0x1006}, {0x1007, 0x1008}}));
}

TEST_F(RaceCollectorTest, EveryMaskGivesExactlyItsBytes) {
  for (unsigned mask = 1; mask < 256; ++mask) {
    RaceCollector fresh(situations);
    fresh.add(write_a, write_b, 8, Touched{0x1000, 8, static_cast<std::uint8_t>(mask)}, 1);
    unsigned seen = 0;
    for (const Detector::Range& range : fresh.racy_bytes()) {
      for (Address byte = range.begin; byte < range.end; ++byte) seen |= 1U << (byte - 0x1000);
    }
    EXPECT_EQ(seen, mask);
  }
}

TEST_F(RaceCollectorTest, BenignBytesAreCutOut) {
  collector.mark_benign(0x1002, 2);
  collector.mark_benign(0x1006, 100);
  add(write_a, write_b, {0x1000, 8, 0xff}, 1);
  EXPECT_EQ(collector.racy_bytes(), (Ranges{{0x1000, 0x1002}, {0x1004, 0x1006}}));
  ASSERT_EQ(collector.findings().size(), 1U);
  EXPECT_EQ(collector.findings()[0].address, 0x1000U);
  EXPECT_EQ(collector.findings()[0].size, 2U);
}

TEST_F(RaceCollectorTest, FullyBenignAccessesAreNotReported) {
  collector.mark_benign(0x0f00, 0x1000);
  add(write_a, write_b, {0x1000, 8, 0xff}, 1);
  add(write_a, write_b, {0x1000, 64, 0xff}, 2);
  EXPECT_TRUE(collector.findings().empty());
  EXPECT_TRUE(collector.racy_bytes().empty());
}

TEST_F(RaceCollectorTest, BenignMarksEndWhereMemoryIsNew) {
  collector.mark_benign(0x1000, 16);
  collector.forget_benign(0x1004, 4);
  add(write_a, write_b, {0x1000, 16, 0xff}, 1);
  EXPECT_EQ(collector.racy_bytes(), (Ranges{{0x1004, 0x1008}}));
}

TEST_F(RaceCollectorTest, BenignMarksReachTheEndsOfTheAddressSpace) {
  collector.mark_benign(~Address{0} - 7, 8);
  collector.mark_benign(0, 4);
  collector.mark_benign(0x500, 0);
  add(write_a, write_b, {~Address{0} - 7, 8, 0xff}, 1);
  add(write_a, write_b, {0, 8, 0xff}, 2);
  add(write_a, write_b, {0x500, 8, 0x01}, 3);
  EXPECT_EQ(collector.racy_bytes(), (Ranges{{4, 8}, {0x500, 0x501}}));
}

TEST_F(RaceCollectorTest, AHugeRangeOfAFreeIsOneFinding) {
  add(side(AccessKind::kFree, 1, 100), side(AccessKind::kFree, 2, 200), {0x1000, 1ULL << 40, 0xff}, 1);
  ASSERT_EQ(collector.findings().size(), 1U);
  EXPECT_EQ(collector.findings()[0].kind, RaceKind::kUseFree);
  EXPECT_EQ(collector.findings()[0].size, 1ULL << 40);
}

TEST_F(RaceCollectorTest, BothSidesCarryTheirStacksAndLocks) {
  Trail trail;
  situations.enter(trail, SiteId{5});
  situations.acquire(trail, SyncId{9}, LockMode::kShared);
  const RawAccess inside{
      AccessKind::kWrite, ThreadId{1},
      AccessRecord(Epoch(ThreadSlot{1}, 1), SiteId{6}, situations.of(trail), 4, WriteFlavour::kStore)};
  add(inside, write_b, {0x1000, 8, 0x0f}, 1);
  const Finding& finding = collector.findings()[0];
  EXPECT_EQ(finding.earlier.stack, std::vector<SiteId>{SiteId{5}});
  EXPECT_EQ(finding.earlier.locks, (std::vector<HeldLock>{{SyncId{9}, LockMode::kShared}}));
  EXPECT_TRUE(finding.later.stack.empty());
}

}  // namespace
}  // namespace deadheat
