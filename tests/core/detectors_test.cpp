// SPDX-License-Identifier: Apache-2.0
// What findings say, on every detector: threads, kinds, sites, stacks, locks,
// sizes, addresses. (Which executions have findings is the scenario table's
// business.)
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/detector.h"
#include "support/threads.h"

namespace deadheat {
namespace {

constexpr ThreadId kOther{1};
constexpr ThreadId kThird{2};
constexpr SyncId kMutex{0x51};
constexpr SyncId kSecondMutex{0x52};

Event fork(ThreadId parent, ThreadId child) { return events::on_thread(EventKind::kFork, parent, child); }
Event join(ThreadId parent, ThreadId child) { return events::on_thread(EventKind::kJoin, parent, child); }
Event enter(ThreadId thread, std::uint32_t site) {
  return events::at(events::plain(EventKind::kFunctionEnter, thread), SiteId{site});
}
Event leave(ThreadId thread) { return events::plain(EventKind::kFunctionExit, thread); }
Event read(ThreadId thread, Address address, std::uint64_t size, std::uint32_t site) {
  return events::at(events::read(thread, address, size), SiteId{site});
}
Event write(ThreadId thread, Address address, std::uint64_t size, std::uint32_t site) {
  return events::at(events::write(thread, address, size), SiteId{site});
}
Event free(ThreadId thread, Address address, std::uint64_t size, std::uint32_t site) {
  return events::at(events::on_range(EventKind::kFree, thread, address, size), SiteId{site});
}

class DetectorsTest : public testing::TestWithParam<DetectorKind> {
 protected:
  // The only finding of the events.
  Finding only_finding(const std::vector<Event>& stream) {
    detector->process(stream);
    detector->finish();
    EXPECT_EQ(detector->findings().size(), 1U);
    return detector->findings().empty() ? Finding{} : detector->findings()[0];
  }
  // A sampling detector samples everything.
  static std::unique_ptr<Detector> make() { return make_detector(GetParam(), {.sampling = SamplingPlan{}}); }
  std::unique_ptr<Detector> detector = make();
};

TEST_P(DetectorsTest, NamesBothThreadsKindsSitesAndTheBytesInCommon) {
  const Finding finding = only_finding({fork(kMain, kOther), write(kMain, 0x1000, 8, 11), read(kOther, 0x1006, 4, 22)});
  EXPECT_EQ(finding.kind, RaceKind::kWriteRead);
  EXPECT_EQ(finding.earlier.thread, kMain);
  EXPECT_EQ(finding.earlier.kind, AccessKind::kWrite);
  EXPECT_EQ(finding.earlier.site, SiteId{11});
  EXPECT_EQ(finding.earlier.size, 8U);
  EXPECT_EQ(finding.later.thread, kOther);
  EXPECT_EQ(finding.later.kind, AccessKind::kRead);
  EXPECT_EQ(finding.later.site, SiteId{22});
  EXPECT_EQ(finding.later.size, 4U);
  EXPECT_EQ(finding.address, 0x1006U);
  EXPECT_EQ(finding.size, 2U);
  EXPECT_EQ(finding.event_index, 2U);
  EXPECT_EQ(finding.occurrences, 1U);
}

TEST_P(DetectorsTest, CarriesTheStacksAsTheyWereAtTheAccesses) {
  const Finding finding =
      only_finding({fork(kMain, kOther), enter(kMain, 1), enter(kMain, 2), write(kMain, 0x1000, 4, 11), leave(kMain),
                    enter(kMain, 3), enter(kOther, 4), write(kOther, 0x1000, 4, 22)});
  EXPECT_EQ(finding.earlier.stack, (std::vector<SiteId>{SiteId{1}, SiteId{2}}));
  EXPECT_EQ(finding.later.stack, std::vector<SiteId>{SiteId{4}});
}

TEST_P(DetectorsTest, CarriesTheLocksAsTheyWereAtTheAccesses) {
  const Finding finding =
      only_finding({fork(kMain, kOther), events::acquire(kMain, kMutex),
                    events::acquire(kMain, kSecondMutex, LockMode::kShared), write(kMain, 0x1000, 4, 11),
                    events::release(kMain, kMutex), events::release(kMain, kSecondMutex, LockMode::kShared),
                    events::acquire(kOther, kSecondMutex, LockMode::kShared), write(kOther, 0x1000, 4, 22)});
  EXPECT_EQ(finding.earlier.locks,
            (std::vector<HeldLock>{{kMutex, LockMode::kExclusive}, {kSecondMutex, LockMode::kShared}}));
  EXPECT_EQ(finding.later.locks, (std::vector<HeldLock>{{kSecondMutex, LockMode::kShared}}));
}

TEST_P(DetectorsTest, ARecursiveLockIsHeldOnceUntilItsLastRelease) {
  const Finding finding = only_finding({fork(kMain, kOther), events::acquire(kMain, kMutex),
                                        events::acquire(kMain, kMutex, LockMode::kExclusive, 2),
                                        events::release(kMain, kMutex, LockMode::kExclusive, 2),
                                        write(kMain, 0x1000, 4, 11), write(kOther, 0x1000, 4, 22)});
  EXPECT_EQ(finding.earlier.locks, (std::vector<HeldLock>{{kMutex, LockMode::kExclusive}}));
}

TEST_P(DetectorsTest, AWaitingThreadDoesNotHoldItsMutex) {
  const SyncId condition{7};
  const Finding finding =
      only_finding({fork(kMain, kOther), events::acquire(kMain, kMutex), events::wait_begin(kMain, condition, kMutex),
                    events::wait_end(kMain, condition, kMutex), write(kMain, 0x1000, 4, 11),
                    events::release(kMain, kMutex), write(kMain, 0x1000, 4, 12), write(kOther, 0x1000, 4, 22)});
  EXPECT_EQ(finding.earlier.site, SiteId{12});
  EXPECT_TRUE(finding.earlier.locks.empty());
}

TEST_P(DetectorsTest, LocksTakenWhileSynchronisationIsIgnoredAreStillShown) {
  const Finding finding =
      only_finding({fork(kMain, kOther), events::ignore(EventKind::kIgnoreBegin, kMain, Ignore::kSync),
                    events::acquire(kMain, kMutex), write(kMain, 0x1000, 4, 11), write(kOther, 0x1000, 4, 22)});
  EXPECT_EQ(finding.earlier.locks, (std::vector<HeldLock>{{kMutex, LockMode::kExclusive}}));
}

TEST_P(DetectorsTest, AFreeIsCalledAFreeOnEitherSide) {
  const Finding use_after =
      only_finding({fork(kMain, kOther), free(kMain, 0x1000, 64, 11), write(kOther, 0x1010, 4, 22)});
  EXPECT_EQ(use_after.kind, RaceKind::kUseFree);
  EXPECT_EQ(use_after.earlier.kind, AccessKind::kFree);
  EXPECT_EQ(use_after.later.kind, AccessKind::kWrite);
  EXPECT_EQ(use_after.address, 0x1010U);
  EXPECT_EQ(use_after.size, 4U);

  detector = make();
  const Finding use_before =
      only_finding({fork(kMain, kOther), read(kMain, 0x1010, 4, 11), free(kOther, 0x1000, 64, 22)});
  EXPECT_EQ(use_before.kind, RaceKind::kUseFree);
  EXPECT_EQ(use_before.earlier.kind, AccessKind::kRead);
  EXPECT_EQ(use_before.later.kind, AccessKind::kFree);
  EXPECT_EQ(use_before.later.size, 64U);
  EXPECT_EQ(use_before.size, 4U);
}

TEST_P(DetectorsTest, AWriteThenAFreeInOneEpochIsReportedAsTheFree) {
  detector->process(std::vector<Event>{fork(kMain, kOther), write(kMain, 0x1000, 8, 11), free(kMain, 0x1000, 8, 12),
                                       write(kOther, 0x1000, 8, 22)});
  const auto& findings = detector->findings();
  EXPECT_TRUE(std::any_of(findings.begin(), findings.end(),
                          [](const Finding& finding) { return finding.earlier.kind == AccessKind::kFree; }));
}

TEST_P(DetectorsTest, AtomicSidesAreNamed) {
  const Finding finding = only_finding(
      {fork(kMain, kOther),
       events::at(events::atomic(EventKind::kAtomicRmw, kMain, 0x1000, 4, MemoryOrder::kSeqCst), SiteId{11}),
       read(kOther, 0x1000, 4, 22)});
  EXPECT_EQ(finding.kind, RaceKind::kAtomicPlain);
  EXPECT_EQ(finding.earlier.kind, AccessKind::kAtomicWrite);
  EXPECT_EQ(finding.later.kind, AccessKind::kRead);
}

// Reports make one race of them, by the name of the array.
TEST_P(DetectorsTest, ARacyLoopIsSomeFindingsWithAllOccurrences) {
  std::vector<Event> stream = {fork(kMain, kOther)};
  for (Address at = 0; at < 100; ++at) stream.push_back(write(kMain, 0x1000 + 8 * at, 8, 11));
  for (Address at = 0; at < 100; ++at) stream.push_back(write(kOther, 0x1000 + 8 * at, 8, 22));
  detector->process(stream);
  detector->finish();
  const std::vector<Finding>& findings = detector->findings();
  ASSERT_FALSE(findings.empty());
  EXPECT_LE(findings.size(), 20U);
  EXPECT_EQ(findings[0].address, 0x1000U);
  EXPECT_EQ(findings[0].size, 8U);
  EXPECT_EQ(findings[0].event_index, 101U);
  std::uint64_t occurrences = 0;
  for (const Finding& finding : findings) occurrences += finding.occurrences;
  EXPECT_EQ(occurrences, 100U);
  EXPECT_EQ(detector->racy_bytes(), (std::vector<Detector::Range>{{0x1000, 0x1320}}));
}

TEST_P(DetectorsTest, AWideRaceWithSitesIsOneFindingOfItsWholeSize) {
  const Finding finding =
      only_finding({fork(kMain, kOther), write(kMain, 0x1003, 100, 11), write(kOther, 0x1001, 50, 22)});
  EXPECT_EQ(finding.address, 0x1003U);
  EXPECT_EQ(finding.size, 48U);
  EXPECT_EQ(finding.later.size, 50U);
}

TEST_P(DetectorsTest, AWideRaceWithoutSitesIsOneFindingOfItsWholeSize) {
  const Finding finding =
      only_finding({fork(kMain, kOther), write(kMain, 0x1000, 16, 0), write(kOther, 0x1000, 16, 0)});
  EXPECT_EQ(finding.address, 0x1000U);
  EXPECT_EQ(finding.size, 16U);
}

TEST_P(DetectorsTest, EarlierThreadsThatSharedASlotAreToldApart) {
  std::vector<Event> stream = {fork(kMain, kOther), fork(kMain, kThird)};
  stream.push_back(write(kOther, 0x1000, 8, 11));
  stream.push_back(join(kMain, kOther));
  stream.push_back(fork(kMain, ThreadId{3}));  // may continue the slot of kOther
  stream.push_back(write(ThreadId{3}, 0x2000, 8, 12));
  stream.push_back(write(kThird, 0x1000, 8, 21));
  stream.push_back(write(kThird, 0x2000, 8, 22));
  detector->process(stream);
  detector->finish();
  ASSERT_EQ(detector->findings().size(), 2U);
  EXPECT_EQ(detector->findings()[0].earlier.thread, kOther);
  EXPECT_EQ(detector->findings()[1].earlier.thread, ThreadId{3});
}

TEST_P(DetectorsTest, OfSixteenReadersTheUnorderedOneIsNamed) {
  constexpr ThreadId kWriter{100};
  const SyncId semaphore{1};
  std::vector<Event> stream = {fork(kMain, kWriter)};
  for (std::uint32_t at = 1; at <= 16; ++at) stream.push_back(fork(kMain, ThreadId{at}));
  for (std::uint32_t at = 1; at <= 16; ++at) stream.push_back(read(ThreadId{at}, 0x1000, 4, at));
  for (std::uint32_t at = 1; at <= 16; ++at) {
    if (at != 7) stream.push_back(events::on_sync(EventKind::kSemaphorePost, ThreadId{at}, semaphore));
  }
  stream.push_back(events::on_sync(EventKind::kSemaphoreWait, kWriter, semaphore));
  stream.push_back(write(kWriter, 0x1000, 4, 99));
  const Finding finding = only_finding(stream);
  EXPECT_EQ(finding.kind, RaceKind::kReadWrite);
  EXPECT_EQ(finding.earlier.thread, ThreadId{7});
  EXPECT_EQ(finding.earlier.site, SiteId{7});
  EXPECT_EQ(finding.later.thread, kWriter);
}

TEST_P(DetectorsTest, StreamsThatBreakTheRulesAreSafeToProcess) {
  detector->process(std::vector<Event>{events::release(kMain, kMutex),
                                       join(kMain, kMain),
                                       fork(kMain, kMain),
                                       fork(kMain, kOther),
                                       join(kMain, kOther),
                                       write(kOther, 0x1000, 8, 1),
                                       fork(kMain, kOther),
                                       events::plain(EventKind::kThreadExit, kOther),
                                       write(kOther, 0x1000, 8, 1),
                                       join(kThird, kOther),
                                       events::on_thread(EventKind::kDetach, kMain, ThreadId{50}),
                                       leave(kMain),
                                       events::ignore(EventKind::kIgnoreEnd, kMain, Ignore::kAll),
                                       events::barrier(EventKind::kBarrierLeave, kMain, kMutex, 3),
                                       events::wait_end(kMain, kMutex, kMutex),
                                       events::on_sync(EventKind::kSyncDestroy, kMain, kMutex),
                                       free(kMain, 0x1000, 0, 1),
                                       write(kThird, 0x1000, 8, 1),
                                       free(kThird, 0x1000, 8, 1),
                                       free(kMain, 0x1000, 8, 1)});
  // What follows by the rules, elsewhere, is judged as ever.
  detector->process(std::vector<Event>{fork(ThreadId{60}, ThreadId{61}), write(ThreadId{60}, 0x9000, 8, 2),
                                       write(ThreadId{61}, 0x9000, 8, 3)});
  EXPECT_EQ(detector->racy_bytes().back(), (Detector::Range{0x9000, 0x9008}));
}

std::uint64_t counter(const Detector& detector, std::string_view name) {
  for (const Counter& entry : detector.counters()) {
    if (entry.name == name) return entry.value;
  }
  ADD_FAILURE() << "no counter " << name;
  return 0;
}

TEST(FastTrackDetector, CountsEachRuleByItsName) {
  const auto detector = make_detector(DetectorKind::kFastTrack);
  detector->process(std::vector<Event>{write(kMain, 0x1000, 8, 1), write(kMain, 0x1000, 8, 1),
                                       read(kMain, 0x1008, 8, 1), fork(kMain, kOther), read(kOther, 0x1008, 8, 1),
                                       fork(kMain, kThird), read(kThird, 0x1008, 8, 1), read(kMain, 0x1008, 8, 1),
                                       join(kMain, kOther), join(kMain, kThird), write(kMain, 0x1008, 8, 1)});
  EXPECT_TRUE(detector->findings().empty());
  EXPECT_EQ(counter(*detector, "write same epoch"), 1U);
  EXPECT_EQ(counter(*detector, "write exclusive"), 1U);
  EXPECT_EQ(counter(*detector, "write shared"), 1U);
  EXPECT_EQ(counter(*detector, "read exclusive"), 2U);
  EXPECT_EQ(counter(*detector, "read share"), 1U);
  EXPECT_EQ(counter(*detector, "read shared"), 1U);
  EXPECT_EQ(counter(*detector, "clock slots"), 3U);
  EXPECT_EQ(counter(*detector, "shadow splits"), 0U);
}

TEST_P(DetectorsTest, StacksAndLocksSurviveManyOtherSituations) {
  // More stacks than are kept without a reason, by batches, with writes that
  // replace each other; the first write stays in its history throughout.
  detector->process(std::vector<Event>{fork(kMain, kOther), enter(kMain, 5), events::acquire(kMain, kMutex),
                                       write(kMain, 0x1000, 8, 6), events::release(kMain, kMutex), leave(kMain)});
  for (std::uint32_t batch = 0; batch < 100; ++batch) {
    std::vector<Event> noise;
    for (std::uint32_t call = 0; call < 2000; ++call) {
      noise.push_back(enter(kMain, 100 + batch * 2000 + call));
      noise.push_back(write(kMain, 0x2000, 8, 7));
      noise.push_back(events::on_sync(EventKind::kSemaphorePost, kMain, SyncId{1}));
      noise.push_back(leave(kMain));
    }
    detector->process(noise);
  }
  const Finding finding = only_finding({enter(kOther, 8), read(kOther, 0x1000, 8, 9)});
  EXPECT_EQ(finding.earlier.stack, std::vector<SiteId>{SiteId{5}});
  EXPECT_EQ(finding.earlier.locks, (std::vector<HeldLock>{{kMutex, LockMode::kExclusive}}));
  EXPECT_EQ(finding.later.stack, std::vector<SiteId>{SiteId{8}});
}

INSTANTIATE_TEST_SUITE_P(All, DetectorsTest,
                         testing::Values(DetectorKind::kFastTrack, DetectorKind::kSlimState, DetectorKind::kDjit,
                                         DetectorKind::kReference, DetectorKind::kPacer),
                         [](const testing::TestParamInfo<DetectorKind>& parameter) -> std::string {
                           switch (parameter.param) {
                             case DetectorKind::kFastTrack:
                               return "FastTrack";
                             case DetectorKind::kSlimState:
                               return "SlimState";
                             case DetectorKind::kDjit:
                               return "Djit";
                             case DetectorKind::kReference:
                               return "Reference";
                             case DetectorKind::kPacer:
                               return "Pacer";
                             case DetectorKind::kLiteRace:
                               return "LiteRace";
                           }
                           return "Unknown";
                         });

}  // namespace
}  // namespace deadheat
