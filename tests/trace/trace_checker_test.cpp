// SPDX-License-Identifier: Apache-2.0
// Each rule of the checker as two small text traces: one that obeys it (the
// expected error is empty) and one that breaks it.
#include "trace/trace_checker.h"

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "trace/event_source.h"
#include "trace/text_reader.h"

namespace deadheat {
namespace {

struct RuleCase {
  const char* name;
  const char* trace;
  const char* error;
};

void PrintTo(const RuleCase& rule, std::ostream* out) { *out << rule.name; }

std::string verdict_on(const std::string& text) {
  const Result<ParsedTrace> trace = parse_text_trace(text);
  if (!trace.ok()) return "does not parse: " + trace.error().message;
  TraceChecker checker({.names = &trace.value().dictionary});
  for (const Event& event : trace.value().events) {
    if (const Status status = checker.check(event); !status.ok()) {
      EXPECT_EQ(status.error().code, ErrorCode::kInvalid);
      return status.error().message;
    }
  }
  EXPECT_TRUE(checker.finish().ok());
  EXPECT_EQ(checker.event_count(), trace.value().events.size());
  return "";
}

class TraceCheckerRule : public testing::TestWithParam<RuleCase> {};

TEST_P(TraceCheckerRule, IsJudgedAsExpected) { EXPECT_EQ(verdict_on(GetParam().trace), GetParam().error); }

std::string case_name(const testing::TestParamInfo<RuleCase>& info) { return info.param.name; }

const RuleCase kThreadRules[] = {
    {"EmptyTraceIsFine", "", ""},
    {"FirstThreadIsARoot", "5 read x", ""},
    {"ForkedThreadMayRun", "0 fork 1\n1 read x\n0 read x", ""},
    {"RootThreadMayRun", "0 read x\n1 root\n1 read x", ""},
    {"FirstEventMayBeARoot", "3 root\n3 read x", ""},
    {"UnforkedThreadMayNotRun", "0 read x\n1 read x",
     "event 1: thread 1 has an event before anything forked it and without a root event"},
    {"UnforkedThreadMayNotSynchronise", "0 read x\n1 acquire m",
     "event 1: thread 1 has an event before anything forked it and without a root event"},
    {"RootTwiceIsRefused", "0 root\n0 root", "event 1: thread 0 calls itself a root although it already runs"},
    {"RootAfterForkIsRefused", "0 fork 1\n1 root", "event 1: thread 1 calls itself a root although it was forked"},
    {"ForkTwiceIsRefused", "0 fork 1\n0 fork 1", "event 1: thread 0 forks thread 1, which exists already"},
    {"ForkOfARunningRootIsRefused", "0 read x\n1 root\n0 fork 1",
     "event 2: thread 0 forks thread 1, which exists already"},
    {"ForkOfItselfIsRefused", "0 fork 0", "event 0: thread 0 forks itself"},
    {"ForkAfterJoinOfTheSameNumberIsRefused", "0 fork 1\n0 join 1\n0 fork 1",
     "event 2: thread 0 forks thread 1, which exists already"},
    {"JoinAfterExit", "0 fork 1\n1 exit\n0 join 1", ""},
    {"JoinOfAThreadThatDidNothing", "0 fork 1\n0 join 1", ""},
    {"JoinOfARoot", "0 read x\n1 root\n0 join 1", ""},
    {"EventAfterExitIsRefused", "0 exit\n0 read x", "event 1: thread 0 has an event after its exit"},
    {"EventAfterJoinIsRefused", "0 fork 1\n1 read x\n0 join 1\n1 read x",
     "event 3: thread 1 has an event after it was joined"},
    {"JoinOfItselfIsRefused", "0 join 0", "event 0: thread 0 joins itself"},
    {"JoinOfUnknownThreadIsRefused", "0 join 7", "event 0: thread 0 joins thread 7, which has not been forked"},
    {"JoinTwiceIsRefused", "0 fork 1\n0 join 1\n0 join 1", "event 2: thread 0 joins thread 1, which was joined before"},
    {"JoinOfADetachedThreadIsRefused", "0 fork 1\n0 detach 1\n0 join 1",
     "event 2: thread 0 joins thread 1, which is detached"},
    {"JoinOfAWaitingThreadIsRefused", "0 fork 1\n1 acquire m\n1 wait_begin c m\n0 join 1",
     "event 3: thread 0 joins thread 1, which is in a wait"},
    {"DetachedThreadRunsOn", "0 fork 1\n0 detach 1\n1 read x\n1 exit", ""},
    {"DetachOfItself", "0 fork 1\n1 detach 1\n1 read x", ""},
    {"DetachTwiceIsRefused", "0 fork 1\n0 detach 1\n1 detach 1",
     "event 2: thread 1 detaches thread 1, which is detached already"},
    {"DetachAfterJoinIsRefused", "0 fork 1\n0 join 1\n0 detach 1",
     "event 2: thread 0 detaches thread 1, which was joined before"},
    {"DetachOfUnknownThreadIsRefused", "0 detach 1", "event 0: thread 0 detaches thread 1, which has not been forked"},
};
INSTANTIATE_TEST_SUITE_P(Threads, TraceCheckerRule, testing::ValuesIn(kThreadRules), case_name);

const RuleCase kLockRules[] = {
    {"LockPassesFromThreadToThread", "0 fork 1\n0 acquire m\n0 release m\n1 acquire m\n1 release m", ""},
    {"ExclusiveExcludesExclusive", "0 fork 1\n0 acquire m\n1 acquire m",
     "event 2: thread 1 acquires lock m exclusively while thread 0 holds it exclusively"},
    {"ExclusiveExcludesShared", "0 fork 1\n0 acquire m\n1 acquire m shared",
     "event 2: thread 1 acquires lock m shared while thread 0 holds it exclusively"},
    {"SharedExcludesExclusive", "0 fork 1\n0 acquire m shared\n1 acquire m",
     "event 2: thread 1 acquires lock m exclusively while thread 0 holds it shared"},
    {"SharedAdmitsShared", "0 fork 1\n0 acquire m shared\n1 acquire m shared\n0 release m shared\n1 release m shared",
     ""},
    {"ExclusiveAfterTheLastSharedRelease",
     "0 fork 1\n0 acquire m shared\n1 acquire m shared\n0 release m shared\n1 release m shared\n0 acquire m", ""},
    {"ExclusiveBeforeTheLastSharedReleaseIsRefused",
     "0 fork 1\n0 acquire m shared\n1 acquire m shared\n0 release m shared\n0 acquire m",
     "event 4: thread 0 acquires lock m exclusively while thread 1 holds it shared"},
    {"UpgradeWithoutReleaseIsRefused", "0 acquire m shared\n0 acquire m",
     "event 1: thread 0 acquires lock m exclusively while it holds it shared"},
    {"DowngradeWithoutReleaseIsRefused", "0 acquire m\n0 acquire m shared",
     "event 1: thread 0 acquires lock m shared while it holds it exclusively"},
    {"ReleaseByNonHolderIsRefused", "0 fork 1\n0 acquire m\n1 release m",
     "event 2: thread 1 releases lock m that it does not hold"},
    {"ReleaseTwiceIsRefused", "0 acquire m\n0 release m\n0 release m",
     "event 2: thread 0 releases lock m that it does not hold"},
    {"ReleaseInAnotherModeIsRefused", "0 acquire m shared\n0 release m",
     "event 1: thread 0 releases lock m exclusively that it holds shared"},
    {"RecursionCountsUpAndDown", "0 acquire m\n0 acquire m depth=2\n0 release m depth=2\n0 release m", ""},
    {"SharedRecursionCountsToo",
     "0 acquire m shared\n0 acquire m shared depth=2\n0 release m shared depth=2\n0 release m shared", ""},
    {"RecursiveLockStaysHeldAfterTheInnerRelease",
     "0 fork 1\n0 acquire m\n0 acquire m depth=2\n0 release m depth=2\n1 acquire m",
     "event 4: thread 1 acquires lock m exclusively while thread 0 holds it exclusively"},
    {"AcquireSkippingADepthIsRefused", "0 acquire m\n0 acquire m depth=3",
     "event 1: thread 0 acquires lock m at depth 3 while it holds it at depth 1"},
    {"AcquireRepeatingADepthIsRefused", "0 acquire m\n0 acquire m",
     "event 1: thread 0 acquires lock m at depth 1 while it holds it at depth 1"},
    {"FirstAcquireAtDepthTwoIsRefused", "0 acquire m depth=2",
     "event 0: thread 0 acquires lock m at depth 2 without holding it"},
    {"ReleaseAtAnotherDepthIsRefused", "0 acquire m\n0 acquire m depth=2\n0 release m",
     "event 2: thread 0 releases lock m at depth 1 while it holds it at depth 2"},
    {"FailedTryOfAHeldLock", "0 fork 1\n0 acquire m\n1 try_failed m", ""},
    {"ExitWithALockHeldFreesIt", "0 fork 1\n1 acquire m\n1 exit\n0 acquire m\n0 release m", ""},
    {"JoinOfALockHolderFreesIt", "0 fork 1\n1 acquire m shared\n0 join 1\n0 acquire m", ""},
    {"LocksDoNotDisturbEachOther", "0 fork 1\n0 acquire m\n1 acquire n\n1 release n\n0 release m", ""},
    {"OneNumberInSeveralFamilies",
     "0 acquire 7\n0 post 7\n0 sem_wait 7\n0 barrier_arrive 7 phase=0\n0 barrier_leave 7 phase=0\n"
     "0 once_complete 7\n0 happens_before 7\n0 signal 7\n0 release 7",
     ""},
};
INSTANTIATE_TEST_SUITE_P(Locks, TraceCheckerRule, testing::ValuesIn(kLockRules), case_name);

const RuleCase kWaitRules[] = {
    {"WaitGivesTheMutexUp",
     "0 fork 1\n0 acquire m\n0 wait_begin c m\n1 acquire m\n1 signal c\n1 release m\n0 wait_end c m\n0 release m", ""},
    {"WaitWithoutMutexIsRefused", "0 wait_begin c m",
     "event 0: thread 0 waits on condition c with mutex m that it does not hold"},
    {"WaitWithSharedMutexIsRefused", "0 acquire m shared\n0 wait_begin c m",
     "event 1: thread 0 waits on condition c with mutex m that it holds only shared"},
    {"WaitWithRecursiveMutexIsRefused", "0 acquire m\n0 acquire m depth=2\n0 wait_begin c m",
     "event 2: thread 0 waits on condition c with mutex m that it holds more than once"},
    {"WaitEndWithoutBeginIsRefused", "0 acquire m\n0 wait_end c m",
     "event 1: thread 0 ends a wait on condition c that it has not begun"},
    {"WaitEndOnAnotherConditionIsRefused", "0 acquire m\n0 wait_begin c m\n0 wait_end d m",
     "event 2: thread 0 ends a wait on condition d with mutex m, but it began one on c with m"},
    {"WaitEndWithAnotherMutexIsRefused", "0 acquire m\n0 wait_begin c m\n0 wait_end c n",
     "event 2: thread 0 ends a wait on condition c with mutex n, but it began one on c with m"},
    {"WaitEndWhileTheMutexIsHeldIsRefused", "0 fork 1\n0 acquire m\n0 wait_begin c m\n1 acquire m\n0 wait_end c m",
     "event 4: thread 0 ends a wait while thread 1 holds its mutex m"},
    {"AccessDuringAWaitIsRefused", "0 acquire m\n0 read x\n0 wait_begin c m\n0 read x",
     "event 3: thread 0 has an event of kind 'read' while it waits on condition c"},
    {"ExitDuringAWaitIsRefused", "0 acquire m\n0 wait_begin c m\n0 exit",
     "event 2: thread 0 has an event of kind 'exit' while it waits on condition c"},
    {"AccessAfterAWait", "0 acquire m\n0 wait_begin c m\n0 wait_end c m\n0 read x\n0 release m", ""},
    {"TraceMayStopDuringAWait", "0 acquire m\n0 wait_begin c m", ""},
};
INSTANTIATE_TEST_SUITE_P(Waits, TraceCheckerRule, testing::ValuesIn(kWaitRules), case_name);

const RuleCase kBarrierRules[] = {
    {"TwoPhasesMayBeAlive",
     "0 fork 1\n0 barrier_arrive b phase=0\n1 barrier_arrive b phase=0\n0 barrier_leave b phase=0\n"
     "0 barrier_arrive b phase=1\n1 barrier_leave b phase=0\n1 barrier_arrive b phase=1\n1 barrier_leave b phase=1\n"
     "0 barrier_leave b phase=1",
     ""},
    {"LeaveWithoutArriveIsRefused", "0 fork 1\n0 barrier_arrive b phase=0\n1 barrier_leave b phase=0",
     "event 2: thread 1 leaves phase 0 of barrier b without having arrived at it"},
    {"LeaveOfAnotherPhaseIsRefused", "0 barrier_arrive b phase=1\n0 barrier_leave b phase=0",
     "event 1: thread 0 leaves phase 0 of barrier b without having arrived at it"},
    {"LeaveTwiceIsRefused", "0 barrier_arrive b phase=0\n0 barrier_leave b phase=0\n0 barrier_leave b phase=0",
     "event 2: thread 0 leaves phase 0 of barrier b without having arrived at it"},
    {"ArriveAfterTheFirstLeaveIsRefused",
     "0 fork 1\n0 barrier_arrive b phase=0\n0 barrier_leave b phase=0\n1 barrier_arrive b phase=0",
     "event 3: thread 1 arrives at phase 0 of barrier b after phase 0 was left"},
    {"PhasesDoNotGoBackwards", "0 fork 1\n0 barrier_arrive b phase=1\n1 barrier_arrive b phase=0",
     "event 2: thread 1 arrives at phase 0 of barrier b after an arrival at phase 1"},
    {"ThreePhasesAliveAreRefused",
     "0 fork 1\n0 barrier_arrive b phase=0\n1 barrier_arrive b phase=0\n0 barrier_leave b phase=0\n"
     "0 barrier_arrive b phase=1\n0 barrier_leave b phase=1\n0 barrier_arrive b phase=2\n1 barrier_leave b phase=0",
     "event 7: thread 1 leaves phase 0 of barrier b after an arrival at phase 2"},
    {"ArrivingWithoutLeaving", "0 barrier_arrive b phase=0\n0 barrier_arrive b phase=1\n0 barrier_leave b phase=1", ""},
    {"ArrivingTwiceAllowsLeavingTwice",
     "0 barrier_arrive b phase=0\n0 barrier_arrive b phase=0\n0 barrier_leave b phase=0\n0 barrier_leave b phase=0",
     ""},
    {"FirstPhaseMayBeAnyNumber", "0 barrier_arrive b phase=41\n0 barrier_leave b phase=41", ""},
    {"DestroyStartsThePhasesAnew",
     "0 barrier_arrive b phase=3\n0 barrier_leave b phase=3\n0 destroy b\n0 barrier_arrive b phase=0", ""},
    {"LateLeaveOfADestroyedBarrier",
     "0 fork 1\n0 barrier_arrive b phase=5\n1 barrier_arrive b phase=5\n0 barrier_leave b phase=5\n0 destroy b\n"
     "0 barrier_arrive b phase=0\n1 barrier_leave b phase=5\n1 barrier_arrive b phase=0\n0 barrier_leave b phase=0",
     ""},
};
INSTANTIATE_TEST_SUITE_P(Barriers, TraceCheckerRule, testing::ValuesIn(kBarrierRules), case_name);

const RuleCase kOnceAndDestroyRules[] = {
    {"ObserveAfterComplete", "0 fork 1\n0 once_complete o\n1 once_observe o\n0 once_observe o", ""},
    {"ObserveBeforeCompleteIsRefused", "0 once_observe o",
     "event 0: thread 0 observes once object o before its completion"},
    {"CompleteTwiceIsRefused", "0 once_complete o\n0 once_complete o",
     "event 1: thread 0 completes once object o a second time"},
    {"CompleteAgainInANewLife", "0 once_complete o\n0 destroy o\n0 once_complete o", ""},
    {"ObserveInANewLifeIsRefused", "0 once_complete o\n0 destroy o\n0 once_observe o",
     "event 2: thread 0 observes once object o before its completion"},
    {"SemaphoreCountsAreNotChecked", "0 sem_wait s\n0 sem_wait s\n0 post s", ""},
    {"DestroyOfAFreeLock", "0 acquire m\n0 release m\n0 destroy m\n0 acquire m", ""},
    {"DestroyOfAHeldLockIsRefused", "0 fork 1\n1 acquire m\n0 destroy m",
     "event 2: thread 0 destroys lock m while thread 1 holds it"},
    {"DestroyOfALockOfADeadThread", "0 fork 1\n1 acquire m\n1 exit\n0 destroy m", ""},
    {"DestroyOfAnUnknownObject", "0 destroy never_seen", ""},
};
INSTANTIATE_TEST_SUITE_P(OnceAndDestroy, TraceCheckerRule, testing::ValuesIn(kOnceAndDestroyRules), case_name);

const RuleCase kMemoryRules[] = {
    {"MemoryIsReusedAfterFree", "0 alloc 0x100 16\n0 free 0x100 16\n0 alloc 0x108 32", ""},
    {"NeighboursDoNotOverlap", "0 alloc 0x110 16\n0 alloc 0x100 16\n0 alloc 0x120 16", ""},
    {"AllocOverTheEndOfALiveOneIsRefused", "0 alloc 0x100 16\n0 alloc 0x10f 1",
     "event 1: thread 0 allocates 1 byte at 0x10f, which overlaps the live allocation of 16 bytes at 0x100"},
    {"AllocOverTheStartOfALiveOneIsRefused", "0 alloc 0x100 16\n0 alloc 0xf0 17",
     "event 1: thread 0 allocates 17 bytes at 0xf0, which overlaps the live allocation of 16 bytes at 0x100"},
    {"AllocAroundALiveOneIsRefused", "0 alloc 0x100 16\n0 alloc 0xf0 64",
     "event 1: thread 0 allocates 64 bytes at 0xf0, which overlaps the live allocation of 16 bytes at 0x100"},
    {"FreeOfAnotherSizeIsRefused", "0 alloc 0x100 16\n0 free 0x100 8",
     "event 1: thread 0 frees 8 bytes at 0x100, but the live allocation there is 16 bytes at 0x100"},
    {"FreeOfTheMiddleIsRefused", "0 alloc 0x100 16\n0 free 0x108 8",
     "event 1: thread 0 frees 8 bytes at 0x108, but the live allocation there is 16 bytes at 0x100"},
    {"FreeAcrossTwoAllocationsIsRefused", "0 alloc 0x100 16\n0 alloc 0x110 16\n0 free 0x100 32",
     "event 2: thread 0 frees 32 bytes at 0x100, but the live allocation there is 16 bytes at 0x110"},
    {"FreeOfMemoryFromBeforeTheTrace", "0 alloc 0x100 16\n0 free 0x200 16", ""},
    {"EmptyAllocation", "0 alloc 0x100 0\n0 free 0x100 0\n0 alloc 0x100 8", ""},
    {"EmptyAllocationHasItsAddressToItself", "0 alloc 0x100 0\n0 alloc 0x100 8",
     "event 1: thread 0 allocates 8 bytes at 0x100, which overlaps the live allocation of 0 bytes at 0x100"},
    {"BenignRangesMayOverlap", "0 benign 0x100 16\n0 benign 0x108 16", ""},
};
INSTANTIATE_TEST_SUITE_P(Memory, TraceCheckerRule, testing::ValuesIn(kMemoryRules), case_name);

const RuleCase kRegionRules[] = {
    {"CallsNest", "0 enter\n0 enter\n0 leave\n0 leave\n0 enter", ""},
    {"LeaveWithoutEnterIsRefused", "0 enter\n0 leave\n0 leave",
     "event 2: thread 0 leaves a function without having entered one"},
    {"CallsOfThreadsAreSeparate", "0 fork 1\n0 enter\n1 leave",
     "event 2: thread 1 leaves a function without having entered one"},
    {"SamplingAlternates", "0 sampling_begin\n0 sampling_end\n0 sampling_begin", ""},
    {"SamplingIsPerThread", "0 fork 1\n0 sampling_begin\n1 sampling_begin\n0 sampling_end\n1 sampling_end", ""},
    {"SamplingBeginTwiceIsRefused", "0 sampling_begin\n0 sampling_begin",
     "event 1: thread 0 begins a sampling period inside another"},
    {"SamplingEndWithoutBeginIsRefused", "0 sampling_end",
     "event 0: thread 0 ends a sampling period that it has not begun"},
    {"IgnoresNest", "0 ignore_begin all\n0 ignore_begin reads\n0 ignore_end reads\n0 ignore_end all", ""},
    {"IgnoresMayEndInParts", "0 ignore_begin all\n0 ignore_end writes\n0 ignore_end reads,sync", ""},
    {"IgnoreEndWithoutBeginIsRefused", "0 ignore_end reads",
     "event 0: thread 0 stops ignoring reads without having begun to"},
    {"IgnoreEndOfMoreThanBegunIsRefused", "0 ignore_begin reads\n0 ignore_end reads,writes",
     "event 1: thread 0 stops ignoring writes without having begun to"},
    {"IgnoreEndOfSyncAloneIsRefused", "0 ignore_begin reads\n0 ignore_end sync",
     "event 1: thread 0 stops ignoring synchronisation without having begun to"},
};
INSTANTIATE_TEST_SUITE_P(Regions, TraceCheckerRule, testing::ValuesIn(kRegionRules), case_name);

TEST(TraceCheckerTest, ExampleTracesAreWellFormed) {
  for (const char* file : {"bank.trace", "publish.trace", "std/counter.std"}) {
    auto source = open_trace(std::string(DEADHEAT_SOURCE_DIR "/examples/traces/") + file);
    ASSERT_TRUE(source.ok()) << source.error().message;
    TraceChecker checker({.names = &source.value()->dictionary()});
    for (;;) {
      const auto batch = source.value()->next_batch();
      ASSERT_TRUE(batch.ok()) << file << ": " << batch.error().message;
      if (batch.value().empty()) break;
      const Status status = checker.check(batch.value());
      ASSERT_TRUE(status.ok()) << file << ": " << status.error().message;
    }
    EXPECT_GT(checker.event_count(), 10U) << file;
  }
}

TEST(TraceCheckerTest, MessagesUseNamesFromTheDictionary) {
  EXPECT_EQ(verdict_on("thread 3 worker\nlock m 0x10\n3 release m"),
            "event 0: thread 3 (worker) releases lock m that it does not hold");
}

TEST(TraceCheckerTest, WithoutDictionaryMessagesUseNumbers) {
  TraceChecker checker;
  const Status status = checker.check(events::release(ThreadId{3}, SyncId{0x10}));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "event 0: thread 3 releases lock 0x10 that it does not hold");
}

TEST(TraceCheckerTest, ErrorIsRepeatedForEveryLaterEventAndAtTheEnd) {
  TraceChecker checker;
  ASSERT_TRUE(checker.check(events::read(ThreadId{0}, 0x10, 4)).ok());
  const Status first = checker.check(events::release(ThreadId{0}, SyncId{1}));
  ASSERT_FALSE(first.ok());
  const Status later = checker.check(events::read(ThreadId{0}, 0x10, 4));
  ASSERT_FALSE(later.ok());
  EXPECT_EQ(later.error().message, first.error().message);
  ASSERT_FALSE(checker.finish().ok());
  EXPECT_EQ(checker.finish().error().message, first.error().message);
  EXPECT_EQ(checker.event_count(), 1U);
}

TEST(TraceCheckerTest, BatchStopsAtItsFirstError) {
  TraceChecker checker;
  const std::vector<Event> batch = {
      events::read(ThreadId{0}, 0x10, 4),
      events::write(ThreadId{0}, 0x10, 4),
      events::on_thread(EventKind::kJoin, ThreadId{0}, ThreadId{9}),
      events::read(ThreadId{0}, 0x10, 4),
  };
  const Status status = checker.check(std::span<const Event>(batch));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "event 2: thread 0 joins thread 9, which has not been forked");
  EXPECT_EQ(checker.event_count(), 2U);
}

TEST(TraceCheckerTest, ThreadNumberAboveTheLimitIsRefused) {
  TraceChecker checker;
  const Status status = checker.check(events::read(ThreadId{kThreadLimit}, 0x10, 4));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "event 0: thread 16777216 has a number that is not below 16777216");
}

}  // namespace
}  // namespace deadheat
