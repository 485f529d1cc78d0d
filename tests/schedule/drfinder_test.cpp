// SPDX-License-Identifier: Apache-2.0
#include "schedule/drfinder.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "schedule/scheduler.h"
#include "support/simulated_program.h"

namespace deadheat::schedule {
namespace {

// One plain run that teaches, and then runs of a strategy, each taught by the one before.
class Hunt {
 public:
  Hunt(Program program, std::uint64_t seed) : program_(std::move(program)), seed_(seed) {
    plain_ = run(StrategyKind::kNative);
  }

  Outcome run(StrategyKind strategy) {
    clear(*output_);
    SimulationOptions options;
    options.settings = {.strategy = strategy, .seed = seed_ * 100 + runs_};
    options.machine_seed = seed_ * 1000 + runs_;
    options.input = input_.get();
    options.output = output_.get();
    Outcome outcome = simulate(program_, options);
    std::swap(input_, output_);
    ++runs_;
    return outcome;
  }
  [[nodiscard]] const Outcome& plain() const { return plain_; }

 private:
  Program program_;
  std::uint64_t seed_;
  std::uint64_t runs_ = 0;
  std::unique_ptr<RunFile> input_ = make_run_file();
  std::unique_ptr<RunFile> output_ = make_run_file();
  Outcome plain_;
};

// The calls of the threads of a program, innermost first.
struct Calls final : World {
  FunctionId function_of(ThreadNumber thread, std::uint32_t level) override {
    const auto& open = calls[thread];
    return level < open.size() ? open[level] : FunctionId::kNone;
  }
  void resume(ThreadNumber thread) override { resumed.insert(thread); }
  std::map<ThreadNumber, std::vector<FunctionId>> calls;
  std::set<ThreadNumber> resumed;
};

struct DrFinderSteps : testing::Test {
  static constexpr LockClass kClass{std::uint64_t{7} << 32};
  static constexpr FunctionId kTaught{5};
  static constexpr FunctionId kOther{6};
  Calls world;
  std::unique_ptr<RunFile> input = make_run_file();
  // A seed that leaves nothing alone at first.
  Scheduler<HeapSource> scheduler{
      {.strategy = StrategyKind::kDrFinder, .seed = bold_seed()}, world, input.get(), nullptr};

  static std::uint64_t bold_seed() {
    std::uint64_t seed = 1;
    while (Random(seed).below(4) != 0) ++seed;
    return seed;
  }
  void SetUp() override {
    add_relation(*input, relation(kTaught, kClass));
    scheduler.thread_begins(1, 1);
    scheduler.thread_begins(2, 2, 1);
  }
  Decision ask(ThreadNumber thread) { return scheduler.request({thread, 0xa0, kClass, false}, nullptr, 0); }
};

TEST_F(DrFinderSteps, CallsAroundTheInnermostOneAreAsked) {
  world.calls[1] = {kOther, kOther, kTaught};
  EXPECT_EQ(ask(2).verdict, Verdict::kSuspend);
}

TEST_F(DrFinderSteps, ButNotAllOfThem) {
  world.calls[1] = std::vector<FunctionId>(12, kOther);
  world.calls[1].push_back(kTaught);
  EXPECT_EQ(ask(2).verdict, Verdict::kGo);
}

TEST_F(DrFinderSteps, AThreadThatIsYetToBeCreatedIsWaitedFor) {
  world.calls[1] = {kTaught};
  EXPECT_EQ(ask(2).verdict, Verdict::kSuspend);
  scheduler.thread_begins(3, 3, 1);
  scheduler.thread_begins(4, 4, 3);
  EXPECT_EQ(ask(4).verdict, Verdict::kGo);  // escorted, as its creator's creator is
  EXPECT_TRUE(world.resumed.empty());
  // At times one lock of the thread is not enough.
  for (int times = 0; times < 50 && world.resumed.empty(); ++times) scheduler.acquired({4, 0xa0, kClass, false});
  EXPECT_EQ(world.resumed, std::set<ThreadNumber>{2});
}

TEST_F(DrFinderSteps, OlderChildrenOfTheEscortedThreadAreNot) {
  scheduler.thread_begins(3, 3, 1);
  world.calls[1] = {kTaught};
  EXPECT_EQ(ask(2).verdict, Verdict::kSuspend);
  EXPECT_EQ(ask(3).verdict, Verdict::kSuspend);  // stands in line
}

TEST(DrFinder, FindsBothHiddenRacesOfFigure2WhereTheMachineHidesThem) {
  constexpr int kHunts = 60;
  int hidden = 0;
  int found = 0;
  int found_at_once = 0;
  for (std::uint64_t seed = 1; seed <= kHunts; ++seed) {
    Hunt hunt(figure_2(100), seed);
    hidden += hunt.plain().races.empty() ? 1 : 0;
    std::set<Address> races;
    for (int run = 1; run <= 10; ++run) {
      races.merge(hunt.run(StrategyKind::kDrFinder).races);
      if (run == 1) found_at_once += static_cast<int>(races.size());
    }
    found += races.size() == 2 ? 1 : 0;
  }
  EXPECT_GE(hidden, kHunts - 1);
  EXPECT_GE(found, kHunts - 1);
  EXPECT_GE(found_at_once, kHunts);  // of two each
}

TEST(DrFinder, PlainRunsDoNotFindThem) {
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Hunt hunt(figure_2(100), seed);
    for (int run = 0; run < 10; ++run) found += static_cast<int>(hunt.run(StrategyKind::kNative).races.size());
  }
  EXPECT_LE(found, 1);
}

TEST(DrFinder, WithoutRelationsNobodyIsSuspended) {
  const auto empty = make_run_file();
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    for (const RunFile* input : {static_cast<const RunFile*>(nullptr), static_cast<const RunFile*>(empty.get())}) {
      SimulationOptions options;
      options.settings = {.strategy = StrategyKind::kDrFinder, .seed = seed};
      options.machine_seed = seed;
      options.input = input;
      EXPECT_EQ(simulate(random_program(seed, LockOrder::kAscending), options).counters.suspensions, 0U);
    }
  }
}

// The second thread needs what the first one holds while it waits for the second.
TEST(DrFinder, AnEscortedThreadIsNotHeldUpByASuspendedOne) {
  const Program program = {
      {call(1), lock(1), lock(2), unlock(2), unlock(1), leave()},
      {call(2), work(100), lock(1), unlock(1), lock(2), unlock(2), leave()},
      {call(3), work(1000), leave()},  // so that it is no thrashing
  };
  int suspensions = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Hunt hunt(program, seed);
    const Outcome outcome = hunt.run(StrategyKind::kDrFinder);
    suspensions += static_cast<int>(outcome.counters.suspensions);
    EXPECT_EQ(outcome.counters.thrashings, 0U);
    EXPECT_EQ(outcome.unfinished, 0U);
  }
  EXPECT_GE(suspensions, 10);
}

TEST(DrFinder, WhoWaitsForAThreadThatEndsGoes) {
  const Program taught = {
      {call(1), lock(1), unlock(1), leave()},
      {call(2), work(100), lock(1), unlock(1), leave()},
      {call(3), work(1000), leave()},
  };
  Program program = taught;
  program[1] = {call(2), work(100), leave()};  // this time it does not come to the lock
  const auto input = make_run_file();
  SimulationOptions teaching;
  teaching.output = input.get();
  (void)simulate(taught, teaching);
  int suspensions = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SimulationOptions options;
    options.settings = {.strategy = StrategyKind::kDrFinder, .seed = seed};
    options.machine_seed = seed;
    options.input = input.get();
    const Outcome outcome = simulate(program, options);
    EXPECT_EQ(outcome.unfinished, 0U);
    EXPECT_EQ(outcome.counters.thrashings, 0U);
    EXPECT_EQ(outcome.counters.resumed, outcome.counters.suspensions);
    suspensions += static_cast<int>(outcome.counters.suspensions);
  }
  EXPECT_GE(suspensions, 10);
}

TEST(DrFinder, ALoopDoesNotCrawl) {
  Code loop = {call(1)};
  constexpr int kRounds = 2000;
  for (int round = 0; round < kRounds; ++round) {
    for (const Operation& operation : {lock(1), unlock(1), work(2)}) loop.push_back(operation);
  }
  loop.push_back(leave());
  Hunt hunt({loop, loop, loop}, 1);
  const Outcome outcome = hunt.run(StrategyKind::kDrFinder);
  EXPECT_GT(outcome.counters.suspensions, 20U);
  EXPECT_LT(outcome.counters.suspensions, kRounds / 2);
}

TEST(DrFinder, RunsDifferBySeedAndARunIsTheSameForTheSameSeed) {
  const auto input = make_run_file();
  const Program program = figure_2(100);
  SimulationOptions options;
  options.output = input.get();
  (void)simulate(program, options);
  options.output = nullptr;
  options.input = input.get();
  const auto order_of = [&](std::uint64_t seed) {
    options.settings = {.strategy = StrategyKind::kDrFinder, .seed = seed};
    return simulate(program, options).acquisitions;
  };
  std::set<decltype(order_of(1))> orders;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    orders.insert(order_of(seed));
    EXPECT_EQ(order_of(seed), order_of(seed));
  }
  EXPECT_GE(orders.size(), 3U);
}

}  // namespace
}  // namespace deadheat::schedule
