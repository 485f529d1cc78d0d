// SPDX-License-Identifier: Apache-2.0
#include "report/access_census.h"

#include <gtest/gtest.h>

#include <vector>

namespace deadheat {
namespace {

constexpr ThreadId kOne{1};
constexpr ThreadId kTwo{2};
constexpr SyncId kQueueMutex{0x51};
constexpr SyncId kOther{0x52};
constexpr Address kQueue = 0x1000;
constexpr Address kReady = 0x2000;
constexpr SiteId kPush{1};
constexpr SiteId kPeek{2};
constexpr SiteId kSet{3};

Finding race(std::uint64_t later_index) {
  Finding finding;
  finding.kind = RaceKind::kWriteRead;
  finding.earlier = {kOne, 1, AccessKind::kWrite, 8, kPush, {}, {{kQueueMutex, LockMode::kExclusive}}};
  finding.later = {kTwo, 1, AccessKind::kRead, 8, kPeek, {}, {}};
  finding.address = kQueue;
  finding.size = 8;
  finding.event_index = later_index;
  return finding;
}

Dictionary names() {
  Dictionary dictionary;
  dictionary.syncs[kQueueMutex] = "queue_mutex";
  dictionary.ranges[kReady] = {1, "ready"};
  return dictionary;
}

Event push() { return events::at(events::write(kOne, kQueue, 8), kPush); }
Event peek() { return events::at(events::read(kTwo, kQueue, 8), kPeek); }

AccessContext context_after(const Finding& finding, const std::vector<Event>& trace) {
  const std::vector<Finding> findings{finding};
  AccessCensus census(findings);
  census.add(trace);
  return census.contexts().front();
}

std::string words_after(const std::vector<Event>& trace) {
  const Finding finding = race(trace.size() - 1);
  return describe_context(context_after(finding, trace), finding, names());
}

TEST(AccessCensusTest, CountsTheLockThatMostAccessesHold) {
  std::vector<Event> trace;
  for (int round = 0; round < 1200; ++round) {
    trace.push_back(events::acquire(kOne, kQueueMutex));
    trace.push_back(push());
    trace.push_back(events::release(kOne, kQueueMutex));
  }
  trace.push_back(events::acquire(kTwo, kOther));
  trace.push_back(events::read(kTwo, kQueue + 8, 8));  // another variable
  trace.push_back(events::read(kTwo, kQueue + 4, 8));
  trace.push_back(events::release(kTwo, kOther));
  trace.push_back(peek());
  EXPECT_EQ(words_after(trace), "1,200 of 1,202 accesses to this memory hold queue_mutex; the later one here does not");
}

TEST(AccessCensusTest, WaitingForAConditionLetsTheMutexGo) {
  const Finding finding = race(3);
  const AccessContext context =
      context_after(finding, {events::acquire(kOne, kQueueMutex), events::wait_begin(kOne, SyncId{7}, kQueueMutex),
                              push(), peek(), events::wait_end(kOne, SyncId{7}, kQueueMutex), push()});
  EXPECT_EQ(context.accesses, 3U);
  ASSERT_EQ(context.locks.size(), 1U);
  EXPECT_EQ(context.locks[0].accesses, 1U);
}

TEST(AccessCensusTest, OtherOwnersOfTheMemoryDoNotCount) {
  std::vector<Event> trace{push(), push(), events::on_range(EventKind::kAlloc, kOne, kQueue - 64, 256), push(), peek()};
  const Finding finding = race(trace.size() - 1);
  trace.push_back(push());
  trace.push_back(events::on_range(EventKind::kAlloc, kOne, kQueue, 64));
  trace.push_back(push());
  EXPECT_EQ(context_after(finding, trace).accesses, 3U);
}

TEST(AccessCensusTest, MemoryThatNobodyLocksIsSaidToBeSo) {
  EXPECT_EQ(words_after({push(), push(), peek()}), "none of the 3 accesses to this memory holds a lock");
  EXPECT_EQ(words_after({push(), peek()}), "");
}

TEST(AccessCensusTest, ARelaxedFlagIsNamed) {
  const auto trace = [](MemoryOrder store, MemoryOrder load) {
    return std::vector<Event>{push(), events::at(events::atomic(EventKind::kAtomicStore, kOne, kReady, 1, store), kSet),
                              events::atomic(EventKind::kAtomicLoad, kTwo, kReady, 1, load), peek()};
  };
  EXPECT_EQ(words_after(trace(MemoryOrder::kRelease, MemoryOrder::kRelaxed)),
            "thread 1 writes ready after its access and thread 2 reads it before its own, but a write of "
            "memory_order_release and a read of memory_order_relaxed order nothing");
  EXPECT_NE(words_after(trace(MemoryOrder::kRelaxed, MemoryOrder::kAcquire)), "");
  EXPECT_EQ(words_after(trace(MemoryOrder::kRelease, MemoryOrder::kAcquire)), "");
}

TEST(AccessCensusTest, AFlagThatSomebodyElseHasOverwrittenIsNot) {
  EXPECT_EQ(words_after({push(), events::atomic(EventKind::kAtomicStore, kOne, kReady, 1, MemoryOrder::kRelaxed),
                         events::atomic(EventKind::kAtomicStore, ThreadId{3}, kReady, 1, MemoryOrder::kRelaxed),
                         events::atomic(EventKind::kAtomicLoad, kTwo, kReady, 1, MemoryOrder::kRelaxed), peek()}),
            "");
  EXPECT_EQ(words_after({events::atomic(EventKind::kAtomicStore, kOne, kReady, 1, MemoryOrder::kRelaxed), push(),
                         events::atomic(EventKind::kAtomicLoad, kTwo, kReady, 1, MemoryOrder::kRelaxed), peek()}),
            "")
      << "written before the access";
}

}  // namespace
}  // namespace deadheat
