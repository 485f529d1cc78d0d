// SPDX-License-Identifier: Apache-2.0
// What programs do against the rules must become traces that keep them and have
// the same races.
#include "report/trace_ledger.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/detector.h"
#include "runtime/raw_report.h"
#include "trace/trace_checker.h"

namespace deadheat::ledger_test {
namespace {

constexpr ThreadId kMain{1};
constexpr ThreadId kOne{2};
constexpr ThreadId kOther{3};
constexpr SyncId kLock{0x1000};
constexpr SyncId kObject{0x2000};
constexpr Address kVariable = 0x5000;

// Two threads of main, then the events.
std::vector<Event> trace_of(const std::vector<Event>& done) {
  TraceLedger ledger;
  std::vector<Event> trace;
  ledger.add(events::on_thread(EventKind::kFork, kMain, kOne), trace);
  ledger.add(events::on_thread(EventKind::kFork, kMain, kOther), trace);
  for (const Event& event : done) ledger.add(event, trace);
  return trace;
}

std::string problem_of(const std::vector<Event>& trace) {
  TraceChecker checker;
  const Status status = checker.check(trace);
  return status.ok() ? "" : status.error().message;
}

// How many races the trace has by the reference detector; -1 if it breaks a rule.
int races_of(const std::vector<Event>& done) {
  const std::vector<Event> trace = trace_of(done);
  if (!problem_of(trace).empty()) {
    ADD_FAILURE() << problem_of(trace);
    return -1;
  }
  const auto detector = make_detector(DetectorKind::kReference, {});
  detector->process(trace);
  return static_cast<int>(detector->findings().size());
}

Event write(ThreadId thread) { return events::write(thread, kVariable, 4); }
Event on_sync(EventKind kind, ThreadId thread, SyncId object = kObject) {
  return events::on_sync(kind, thread, object);
}

Event ending(ThreadId thread, SyncId object, std::uint64_t what) {
  Event event = on_sync(EventKind::kSyncDestroy, thread, object);
  event.extent = what;
  return event;
}

Event alloc(ThreadId thread, Address address, std::uint64_t size) {
  return events::on_range(EventKind::kAlloc, thread, address, size);
}
Event free_of(ThreadId thread, Address address, std::uint64_t size) {
  return events::on_range(EventKind::kFree, thread, address, size);
}
Event renewal(ThreadId thread, Address address, std::uint64_t size) {
  Event event = alloc(thread, address, size);
  event.depth = 1;
  return event;
}

TEST(TraceLedgerTest, EventsWithinTheRulesStayAsTheyAre) {
  const std::vector<Event> done = {events::acquire(kOne, kLock),   write(kOne),   events::release(kOne, kLock),
                                   events::acquire(kOther, kLock), write(kOther), events::release(kOther, kLock)};
  const std::vector<Event> trace = trace_of(done);
  ASSERT_EQ(trace.size(), done.size() + 2);
  EXPECT_TRUE(std::equal(done.begin(), done.end(), trace.begin() + 2));
  EXPECT_EQ(races_of(done), 0);
}

TEST(TraceLedgerTest, LockThatAnotherThreadGivesUpOrdersByThatRelease) {
  EXPECT_EQ(races_of({events::acquire(kOne, kLock), write(kOther), events::release(kOther, kLock),
                      events::acquire(kOne, kLock), write(kOne)}),
            0);
  EXPECT_EQ(races_of({events::acquire(kOne, kLock), write(kOne), events::release(kOther, kLock),
                      events::acquire(kOther, kLock), write(kOther)}),
            1);
}

TEST(TraceLedgerTest, ReleaseOfALockThatNobodyHoldsAcquiresNothing) {
  EXPECT_EQ(races_of({events::acquire(kOne, kLock), write(kOne), events::release(kOne, kLock),
                      events::release(kOther, kLock), write(kOther)}),
            1);
}

TEST(TraceLedgerTest, HeldLockMayEndWithItsMemory) {
  EXPECT_EQ(races_of({alloc(kOne, 0xff0, 64), events::acquire(kOne, kLock), write(kOne), free_of(kOne, 0xff0, 64),
                      alloc(kOther, 0xff0, 64), events::acquire(kOther, kLock), write(kOther)}),
            1);
}

TEST(TraceLedgerTest, DepthOfRecursionFollowsTheTrace) {
  EXPECT_EQ(races_of({events::acquire(kOne, kLock), events::acquire(kOne, kLock, LockMode::kExclusive, 2),
                      events::acquire(kOne, kLock, LockMode::kExclusive, 2), write(kOne), events::release(kOne, kLock),
                      events::acquire(kOther, kLock), write(kOther)}),
            0);
}

TEST(TraceLedgerTest, HandlerMayRunWhileItsThreadWaits) {
  EXPECT_EQ(races_of({events::acquire(kOne, kLock), events::wait_begin(kOne, kObject, kLock), write(kOne),
                      events::acquire(kOther, kLock), events::release(kOther, kLock),
                      events::wait_end(kOne, kObject, kLock), events::release(kOne, kLock)}),
            0);
}

TEST(TraceLedgerTest, WaitOrdersLikeItsMutex) {
  EXPECT_EQ(races_of({events::acquire(kOne, kLock), write(kOne), events::wait_begin(kOne, kObject, kLock),
                      events::acquire(kOther, kLock), write(kOther), events::release(kOther, kLock),
                      events::wait_end(kOne, kObject, kLock), write(kOne)}),
            0);
}

TEST(TraceLedgerTest, SecondCompletionOfAOnceFlagAddsToTheFirst) {
  EXPECT_EQ(races_of({write(kMain), on_sync(EventKind::kOnceComplete, kMain), on_sync(EventKind::kOnceObserve, kOne),
                      write(kOne), on_sync(EventKind::kOnceComplete, kOne), on_sync(EventKind::kOnceObserve, kOther),
                      write(kOther)}),
            0);
}

TEST(TraceLedgerTest, ObservedFlagThatNobodyCompletedOrdersNothing) {
  EXPECT_EQ(races_of({write(kOne), on_sync(EventKind::kOnceObserve, kOther), write(kOther)}), 1);
}

TEST(TraceLedgerTest, TagEndsWithItsMemory) {
  const Event before = on_sync(EventKind::kHappensBefore, kOne);
  const Event after = on_sync(EventKind::kHappensAfter, kOther);
  EXPECT_EQ(races_of({write(kOne), before, after, write(kOther)}), 0);
  EXPECT_EQ(races_of({write(kOne), before, renewal(kOther, raw(kObject), 8), after, write(kOther)}), 1);
  EXPECT_EQ(races_of({write(kOne), before, ending(kOther, kObject, raw_report::kEndsOthers), after, write(kOther)}), 1);
}

TEST(TraceLedgerTest, SlowThreadHasLeftABarrierBeforeOthersAreTwoPhasesFurther) {
  const auto arrive = [](ThreadId thread, std::uint64_t phase) {
    return events::barrier(EventKind::kBarrierArrive, thread, kObject, phase);
  };
  const auto leave = [](ThreadId thread, std::uint64_t phase) {
    return events::barrier(EventKind::kBarrierLeave, thread, kObject, phase);
  };
  EXPECT_EQ(
      races_of({write(kOne), arrive(kOne, 0), arrive(kOther, 0), leave(kOne, 0), arrive(kOne, 1), arrive(kMain, 1),
                leave(kOne, 1), leave(kMain, 1), arrive(kOne, 2), arrive(kMain, 2), leave(kOther, 0), write(kOther)}),
      0);
}

TEST(TraceLedgerTest, MemoryMayComeBackWithoutHavingBeenFreed) {
  EXPECT_EQ(races_of({alloc(kOne, kVariable, 64), write(kOne), alloc(kOther, kVariable - 8, 32), write(kOther),
                      alloc(kOne, kVariable - 8, 32), write(kOne)}),
            0);
}

TEST(TraceLedgerTest, PartOfABlockMayBeFreed) {
  EXPECT_EQ(races_of({alloc(kMain, kVariable, 64), write(kOne), free_of(kOther, kVariable + 32, 32)}), 0);
  EXPECT_EQ(races_of({alloc(kMain, kVariable, 64), write(kOne), free_of(kOther, kVariable, 32)}), 1);
}

TEST(TraceLedgerTest, FreeOfSeveralBlocksEndsThemAll) {
  EXPECT_EQ(races_of({alloc(kMain, kVariable, 64), alloc(kMain, kVariable + 64, 64), write(kOne),
                      free_of(kOther, kVariable, 128), alloc(kOther, kVariable, 256), write(kOther)}),
            1);
}

TEST(TraceLedgerTest, BlockBeyondTheReferencesLimitIsAllocatedAndFreedInPieces) {
  constexpr std::uint64_t kHuge = (std::uint64_t{1} << 25U) + 100;
  const std::vector<Event> trace = trace_of({alloc(kMain, kVariable, kHuge), free_of(kMain, kVariable, kHuge)});
  EXPECT_EQ(problem_of(trace), "");
  EXPECT_EQ(std::ranges::count(trace, EventKind::kFree, &Event::kind), 3);
  EXPECT_TRUE(std::ranges::all_of(trace, [](const Event& event) { return event.extent <= kMaxAccessSize; }));
}

TEST(TraceLedgerTest, AccessBeyondTheLimitOfTracesIsCut) {
  const std::vector<Event> trace = trace_of({events::write(kMain, kVariable, kMaxAccessSize + 1)});
  ASSERT_EQ(trace.size(), 4U);
  EXPECT_EQ(trace[2].size(), kMaxAccessSize);
  EXPECT_EQ(trace[3].address(), kVariable + kMaxAccessSize);
}

// Using a lock reads it, and the lock may be an atomic variable that hands on order
// by itself.
TEST(TraceLedgerTest, AccessAloneHandsOnNoOrder) {
  Event touch = events::atomic(EventKind::kAtomicLoad, kOther, 0x1000, 1, MemoryOrder::kAcquire);
  const Event store = events::atomic(EventKind::kAtomicStore, kOne, 0x1000, 4, MemoryOrder::kRelease);
  EXPECT_EQ(races_of({write(kOne), store, touch, write(kOther)}), 0);
  touch.depth = 1;
  EXPECT_EQ(races_of({write(kOne), store, touch, write(kOther)}), 1);
}

TEST(TraceLedgerTest, ThreadThatNobodyForkedIsARoot) {
  const std::vector<Event> trace = trace_of({write(ThreadId{9}), write(ThreadId{9})});
  EXPECT_EQ(problem_of(trace), "");
  EXPECT_EQ(std::ranges::count(trace, EventKind::kThreadRoot, &Event::kind), 1);
}

TEST(TraceLedgerTest, EndOfWhatWasNotBegunIsDropped) {
  EXPECT_EQ(races_of({events::ignore(EventKind::kIgnoreEnd, kOne, Ignore::kAll),
                      events::ignore(EventKind::kIgnoreBegin, kOne, Ignore::kReads),
                      events::ignore(EventKind::kIgnoreEnd, kOne, Ignore::kAll), write(kOne), write(kOther)}),
            1);
}

}  // namespace
}  // namespace deadheat::ledger_test
