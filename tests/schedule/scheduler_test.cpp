// SPDX-License-Identifier: Apache-2.0
#include "schedule/scheduler.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "support/simulated_program.h"

namespace deadheat::schedule {
namespace {

using Ours = Scheduler<HeapSource>;

constexpr Address kA = 0xa0;
constexpr Address kB = 0xb0;
constexpr LockClass kClass{std::uint64_t{7} << 32};

struct Recorder final : World {
  void resume(ThreadNumber thread) override { resumed.push_back(thread); }
  std::vector<ThreadNumber> resumed;
};

// Suspends everybody, always.
struct Stubborn final : Strategy {
  Decision on_request(const Request& /*request*/) override { return kSuspend; }
  Decision on_point(ThreadNumber /*thread*/) override { return kSuspend; }
};

struct SchedulerTest : testing::Test {
  Recorder world;
  std::unique_ptr<RunFile> output = make_run_file();
  Ours plain{{}, world, nullptr, output.get()};

  static void begin(Ours& scheduler, ThreadNumber count) {
    for (ThreadNumber thread = 1; thread <= count; ++thread) scheduler.thread_begins(thread, 100 + thread);
  }
  static Decision ask(Ours& scheduler, ThreadNumber thread, Address lock) {
    return scheduler.request({thread, lock, kClass, false}, nullptr, 0);
  }
};

TEST_F(SchedulerTest, RelationsOfTheInnermostCallsAreLearned) {
  begin(plain, 1);
  std::vector<FunctionId> calls;
  for (std::uint64_t function = 1; function <= 20; ++function) calls.push_back(FunctionId{function});
  EXPECT_EQ(plain.request({1, kA, kClass, false}, calls.data(), 20).verdict, Verdict::kGo);
  EXPECT_EQ(plain.request({1, kA, kClass, false}, calls.data(), 20).verdict, Verdict::kGo);
  EXPECT_EQ(output->header.relation_count, 12U);
  for (std::uint64_t function = 1; function <= 20; ++function) {
    EXPECT_EQ(has_relation(*output, relation(FunctionId{function}, kClass)), function <= 12);
    EXPECT_FALSE(has_relation(*output, relation(FunctionId{function}, LockClass{1})));
  }
  EXPECT_EQ(plain.counters().requests, 2U);
}

TEST_F(SchedulerTest, TheSetOfRelationsIsHalfFullAtMost) {
  begin(plain, 1);
  for (std::uint64_t function = 1; function <= kMostRelations + 10; ++function) {
    add_relation(*output, relation(FunctionId{function}, kClass));
  }
  EXPECT_EQ(output->header.relation_count, kMostRelations);
  EXPECT_EQ(output->header.counters.lost_relations, 10U);
  EXPECT_TRUE(has_relation(*output, relation(FunctionId{kMostRelations}, kClass)));
  EXPECT_FALSE(has_relation(*output, relation(FunctionId{kMostRelations + 1}, kClass)));
}

TEST_F(SchedulerTest, AcquisitionsAreLoggedByAncestryInTheirOrder) {
  begin(plain, 2);
  plain.acquired({2, kA, kClass, false});
  plain.acquired({1, kB, LockClass{std::uint64_t{9} << 32}, false});
  ASSERT_EQ(output->header.acquisition_count, 2U);
  EXPECT_EQ(output->acquisitions[0].thread, 102U);
  EXPECT_EQ(output->acquisitions[0].lock_class, 7U);
  EXPECT_EQ(output->acquisitions[1].thread, 101U);
  EXPECT_EQ(output->acquisitions[1].lock_class, 9U);
  output->header.acquisition_count = kAcquisitionPlaces;
  plain.acquired({2, kA, kClass, false});
  EXPECT_EQ(plain.counters().lost_acquisitions, 1U);
}

TEST_F(SchedulerTest, WhoeverIsUnknownPasses) {
  Stubborn strategy;
  Ours scheduler(strategy, {}, world, nullptr, nullptr);
  EXPECT_EQ(ask(scheduler, 5, kA).verdict, Verdict::kGo);
  EXPECT_EQ(scheduler.point(5).verdict, Verdict::kGo);
  scheduler.acquired({5, kA, kClass, false});
  EXPECT_FALSE(scheduler.blocks(5, kB, SelfWait::kDeadlock));
  scheduler.unblocks(5);
  scheduler.timed_out(5);
  scheduler.thread_ends(5);
  scheduler.released(5, kA);
  scheduler.released(6, kB);
  EXPECT_EQ(scheduler.holds().size(), 0U);
}

// It saw the lock free, but another thread was faster.
TEST_F(SchedulerTest, WhoIsAboutToTakeALockIsBlockedByWhoTakesIt) {
  begin(plain, 2);
  EXPECT_FALSE(plain.blocks(1, kA, SelfWait::kHarmless));
  EXPECT_EQ(plain.threads().find(1)->state, ThreadState::kRunning);
  plain.acquired({2, kA, kClass, false});
  EXPECT_EQ(plain.threads().find(1)->state, ThreadState::kBlocked);
  plain.acquired({1, kB, kClass, false});
  plain.unblocks(1);
  EXPECT_EQ(plain.threads().find(1)->state, ThreadState::kRunning);
}

TEST_F(SchedulerTest, ADeadlockIsSeenThoughTheFirstLockWasFreeWhenAskedFor) {
  begin(plain, 2);
  plain.acquired({1, kA, kClass, false});
  EXPECT_FALSE(plain.blocks(1, kB, SelfWait::kHarmless));
  plain.acquired({2, kB, kClass, false});
  const Cycle cycle = plain.blocks(2, kA, SelfWait::kHarmless);
  EXPECT_EQ(cycle.length, 2U);
}

TEST_F(SchedulerTest, ALockThatIsMadeAnewIsHeldByNobody) {
  begin(plain, 2);
  plain.acquired({1, kA, kClass, false});
  plain.forgotten(kA);
  EXPECT_FALSE(plain.holds().is_held(kA));
  EXPECT_FALSE(plain.blocks(2, kA, SelfWait::kHarmless));
  EXPECT_EQ(plain.threads().find(2)->state, ThreadState::kRunning);
}

TEST_F(SchedulerTest, TheLastOneToRunIsNotSuspended) {
  Stubborn strategy;
  Ours scheduler(strategy, {}, world, nullptr, nullptr);
  begin(scheduler, 2);
  EXPECT_EQ(ask(scheduler, 1, kA).verdict, Verdict::kSuspend);
  EXPECT_TRUE(world.resumed.empty());
  // One of the two goes: the other one, or this one, which is not resumed but told.
  const Decision second = ask(scheduler, 2, kA);
  EXPECT_EQ(scheduler.counters().thrashings, 1U);
  EXPECT_EQ(scheduler.counters().resumed, 0U);
  EXPECT_EQ(second.verdict == Verdict::kGo, world.resumed.empty());
  EXPECT_NE(scheduler.threads().is_suspended(1), scheduler.threads().is_suspended(2));
}

TEST_F(SchedulerTest, WhenTheLastOneBlocksOrEndsASuspendedOneGoes) {
  Stubborn strategy;
  Ours scheduler(strategy, {}, world, nullptr, nullptr);
  begin(scheduler, 3);
  EXPECT_EQ(ask(scheduler, 1, kA).verdict, Verdict::kSuspend);
  EXPECT_FALSE(scheduler.blocks(2, 0, SelfWait::kDeadlock));
  EXPECT_TRUE(world.resumed.empty());
  scheduler.thread_ends(3);
  EXPECT_EQ(world.resumed, std::vector<ThreadNumber>{1});
  EXPECT_EQ(ask(scheduler, 1, kA).verdict, Verdict::kGo);
  EXPECT_EQ(scheduler.counters().thrashings, 2U);
}

TEST_F(SchedulerTest, WhoWaitsForALockThatIsFreeIsAboutToRun) {
  Stubborn strategy;
  Ours scheduler(strategy, {}, world, nullptr, nullptr);
  begin(scheduler, 2);
  scheduler.acquired({1, kA, kClass, false});
  EXPECT_FALSE(scheduler.blocks(2, kA, SelfWait::kDeadlock));
  scheduler.released(1, kA);
  EXPECT_EQ(ask(scheduler, 1, kA).verdict, Verdict::kSuspend);
  EXPECT_EQ(scheduler.counters().thrashings, 0U);
}

TEST_F(SchedulerTest, ATimeoutCountsOnlyForWhoIsStillSuspended) {
  Stubborn strategy;
  Ours scheduler(strategy, {}, world, nullptr, nullptr);
  begin(scheduler, 2);
  EXPECT_EQ(scheduler.point(1).verdict, Verdict::kSuspend);
  scheduler.timed_out(2);
  EXPECT_EQ(scheduler.counters().timeouts, 0U);
  scheduler.timed_out(1);
  scheduler.timed_out(1);
  EXPECT_EQ(scheduler.counters().timeouts, 1U);
  EXPECT_FALSE(scheduler.threads().is_suspended(1));
}

TEST_F(SchedulerTest, TwoThreadsInACycleAreADeadlock) {
  begin(plain, 3);
  plain.acquired({1, kA, kClass, false});
  plain.acquired({2, kB, kClass, false});
  EXPECT_FALSE(plain.blocks(3, kA, SelfWait::kDeadlock));
  EXPECT_FALSE(plain.blocks(1, kB, SelfWait::kDeadlock));
  const Cycle cycle = plain.blocks(2, kA, SelfWait::kDeadlock);
  ASSERT_EQ(cycle.length, 2U);
  EXPECT_EQ(cycle.members[0].thread, 2U);
  EXPECT_EQ(cycle.members[0].wanted, kA);
  EXPECT_EQ(cycle.members[1].thread, 1U);
  EXPECT_EQ(cycle.members[1].wanted, kB);
}

TEST_F(SchedulerTest, AnyReaderOfALockCanCloseACycle) {
  begin(plain, 3);
  for (const ThreadNumber reader : {1U, 2U}) plain.acquired({reader, kA, kClass, true});
  plain.acquired({3, kB, kClass, false});
  EXPECT_FALSE(plain.blocks(3, kA, SelfWait::kDeadlock));
  const Cycle cycle = plain.blocks(1, kB, SelfWait::kDeadlock);
  ASSERT_EQ(cycle.length, 2U);
  EXPECT_EQ(cycle.members[1].thread, 3U);
}

TEST_F(SchedulerTest, TheCallerSaysWhetherWaitingForOneselfIsADeadlock) {
  begin(plain, 2);
  plain.acquired({1, kA, kClass, false});
  EXPECT_FALSE(plain.blocks(1, kA, SelfWait::kHarmless));
  plain.unblocks(1);
  EXPECT_EQ(plain.blocks(1, kA, SelfWait::kDeadlock).length, 1U);
}

TEST_F(SchedulerTest, OfALongCycleTheBeginningIsTold) {
  constexpr ThreadNumber kCount = 20;
  begin(plain, kCount);
  for (ThreadNumber thread = 1; thread <= kCount; ++thread) plain.acquired({thread, 0x100 + thread, kClass, false});
  for (ThreadNumber thread = 1; thread < kCount; ++thread) {
    EXPECT_FALSE(plain.blocks(thread, 0x100 + thread + 1, SelfWait::kDeadlock));
  }
  const Cycle cycle = plain.blocks(kCount, 0x101, SelfWait::kDeadlock);
  EXPECT_EQ(cycle.length, kCount);
  EXPECT_EQ(cycle.count(), kDeadlockThreads);
}

TEST_F(SchedulerTest, ASuspendedOwnerIsThrashingAndNotADeadlock) {
  Stubborn strategy;
  Ours scheduler(strategy, {}, world, nullptr, nullptr);
  begin(scheduler, 2);
  scheduler.acquired({1, kA, kClass, false});
  EXPECT_EQ(ask(scheduler, 1, kB).verdict, Verdict::kSuspend);
  EXPECT_FALSE(scheduler.blocks(2, kA, SelfWait::kDeadlock));
  EXPECT_EQ(world.resumed, std::vector<ThreadNumber>{1});
  EXPECT_EQ(scheduler.counters().thrashings, 1U);
}

TEST_F(SchedulerTest, AThreadThatEndsHoldsNothing) {
  begin(plain, 3);
  plain.acquired({1, kA, kClass, false});
  plain.thread_ends(1);
  EXPECT_FALSE(plain.holds().is_held(kA));
}

TEST_F(SchedulerTest, TheChildOfAForkIsAloneAndWritesNothing) {
  Stubborn strategy;
  Ours scheduler(strategy, {}, world, nullptr, output.get());
  begin(scheduler, 3);
  scheduler.acquired({1, kA, kClass, false});
  scheduler.acquired({2, kB, kClass, false});
  EXPECT_EQ(scheduler.point(1).verdict, Verdict::kSuspend);
  const RunCounters before = output->header.counters;
  scheduler.forget_others(2);
  EXPECT_EQ(scheduler.threads().size(), 1U);
  EXPECT_FALSE(scheduler.holds().is_held(kA));
  EXPECT_TRUE(scheduler.holds().is_held(kB));
  EXPECT_TRUE(world.resumed.empty());
  EXPECT_EQ(ask(scheduler, 2, kA).verdict, Verdict::kGo);
  EXPECT_EQ(output->header.counters.steps, before.steps);
  EXPECT_EQ(scheduler.counters().thrashings, 1U);
}

// Whatever the program and the strategy: nobody is forgotten, every deadlock is told, and
// none is made up.
void expect_programs_to_end_under(StrategyKind strategy) {
  auto before = make_run_file();
  auto after = make_run_file();
  int deadlocks = 0;
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    for (const LockOrder order : {LockOrder::kAscending, LockOrder::kAny}) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", order " << static_cast<int>(order));
      const Program program = random_program(seed, order);
      SimulationOptions options;
      clear(*before);
      options.output = before.get();
      options.machine_seed = seed;
      (void)simulate(program, options);
      clear(*after);
      options.settings = {.strategy = strategy, .seed = seed};
      options.settings.escorts = seed % 2 == 0 ? Escorts::kOne : Escorts::kMany;
      options.are_accesses_points = seed % 3 == 0;
      options.time_limit = seed % 5 == 0 ? 20 : 0;
      options.input = before.get();
      options.output = after.get();
      options.machine_seed = seed + 1;
      const Outcome outcome = simulate(program, options);
      ASSERT_EQ(outcome.left_suspended, 0U);
      ASSERT_EQ(!outcome.reported_cycle.empty(), outcome.is_deadlocked);
      ASSERT_EQ(outcome.unfinished != 0, outcome.is_deadlocked);
      ASSERT_FALSE(order == LockOrder::kAscending && outcome.is_deadlocked);
      deadlocks += outcome.is_deadlocked ? 1 : 0;
    }
  }
  EXPECT_GT(deadlocks, 50);
}

TEST(AnyProgram, EndsUnderNative) { expect_programs_to_end_under(StrategyKind::kNative); }
TEST(AnyProgram, EndsUnderDrFinder) { expect_programs_to_end_under(StrategyKind::kDrFinder); }
TEST(AnyProgram, EndsUnderPct) { expect_programs_to_end_under(StrategyKind::kPct); }
TEST(AnyProgram, EndsUnderConTest) { expect_programs_to_end_under(StrategyKind::kConTest); }
TEST(AnyProgram, EndsUnderAgain) { expect_programs_to_end_under(StrategyKind::kAgain); }

TEST(AnyProgram, EndsEvenIfEverybodyIsAlwaysSuspended) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Stubborn strategy;
    SimulationOptions options;
    options.strategy = &strategy;
    options.machine_seed = seed;
    options.are_accesses_points = true;
    const Outcome outcome = simulate(random_program(seed, LockOrder::kAny), options);
    ASSERT_EQ(outcome.left_suspended, 0U);
    ASSERT_EQ(!outcome.reported_cycle.empty(), outcome.is_deadlocked);
    ASSERT_EQ(outcome.unfinished != 0, outcome.is_deadlocked);
  }
}

}  // namespace
}  // namespace deadheat::schedule
