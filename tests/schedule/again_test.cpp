// SPDX-License-Identifier: Apache-2.0
#include "schedule/again.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "support/simulated_program.h"

namespace deadheat::schedule {
namespace {

// Whether a try succeeds depends on more than the order of acquisitions.
Program without_tries(Program program) {
  for (Code& code : program) {
    for (Operation& operation : code) {
      if (operation.kind == Operation::Kind::kTryLock) operation.kind = Operation::Kind::kLock;
    }
  }
  return program;
}

// Each thread takes the same locks, one after the other.
Program rounds(std::uint64_t locks, std::size_t threads) {
  Code code;
  for (std::uint64_t name = 11; name < 11 + locks; ++name) {
    for (const Operation& operation : {lock(name), unlock(name), work(10)}) code.push_back(operation);
  }
  return Program(threads, code);
}

struct AgainTest : testing::Test {
  std::unique_ptr<RunFile> learned = make_run_file();
  std::unique_ptr<RunFile> first = make_run_file();
  std::unique_ptr<RunFile> second = make_run_file();

  Outcome run(const Program& program, StrategyKind strategy, std::uint64_t seed, const RunFile* input, RunFile& output,
              std::uint64_t time_limit = 0) {
    clear(output);
    SimulationOptions options;
    options.settings = {.strategy = strategy, .seed = seed};
    options.machine_seed = seed;
    options.input = input;
    options.output = &output;
    options.time_limit = time_limit;
    return simulate(program, options);
  }
};

TEST_F(AgainTest, TheSameOrderOfAcquisitionsAndTheSameRaces) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const Program program = without_tries(random_program(seed, LockOrder::kAscending));
    run(program, StrategyKind::kNative, seed, nullptr, *learned);
    const Outcome original = run(program, StrategyKind::kDrFinder, seed + 1, learned.get(), *first);
    const Outcome repeated = run(program, StrategyKind::kAgain, seed + 2, first.get(), *second);
    ASSERT_EQ(repeated.acquisitions, original.acquisitions);
    ASSERT_EQ(repeated.races, original.races);
    ASSERT_EQ(repeated.counters.diverged, 0U);
    ASSERT_EQ(repeated.counters.thrashings, 0U);
  }
}

TEST_F(AgainTest, ARaceThatOnlyAScheduleFoundIsFoundAgain) {
  const Program program = figure_2(100);
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    run(program, StrategyKind::kNative, seed, nullptr, *learned);
    const Outcome original = run(program, StrategyKind::kDrFinder, seed, learned.get(), *first);
    found += original.races.empty() ? 0 : 1;
    EXPECT_EQ(run(program, StrategyKind::kAgain, seed + 1000, first.get(), *second).races, original.races);
  }
  EXPECT_GE(found, 10);
}

TEST_F(AgainTest, AnotherProgramDivergesAndEnds) {
  std::uint64_t diverged = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    run(random_program(seed, LockOrder::kAscending), StrategyKind::kNative, seed, nullptr, *first);
    const std::uint64_t time_limit = seed % 2 == 0 ? 50 : 0;
    const Outcome outcome = run(random_program(seed + 1, LockOrder::kAscending), StrategyKind::kAgain, seed,
                                first.get(), *second, time_limit);
    ASSERT_EQ(outcome.unfinished, 0U);
    diverged += outcome.counters.diverged;
  }
  EXPECT_GT(diverged, 300U);
}

// The first thread leaves out its second lock; the order of the rest is kept.
TEST_F(AgainTest, WhatIsLeftOutIsPassedOver) {
  const Program program = rounds(4, 3);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Outcome original = run(program, StrategyKind::kNative, seed, nullptr, *first);
    Program changed = program;
    changed[0].erase(changed[0].begin() + 3, changed[0].begin() + 6);
    const Outcome repeated = run(changed, StrategyKind::kAgain, seed + 100, first.get(), *second);
    std::erase(original.acquisitions, std::pair<ThreadNumber, std::uint64_t>{1, 12});
    EXPECT_EQ(repeated.acquisitions, original.acquisitions);
    EXPECT_EQ(repeated.counters.diverged, 1U);
  }
}

TEST_F(AgainTest, WhatIsNewDoesNotDisturbTheOrderOfTheRest) {
  const Program program = rounds(4, 3);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Outcome original = run(program, StrategyKind::kNative, seed, nullptr, *first);
    Program changed = program;
    const Code more = {lock(99), unlock(99)};
    changed[1].insert(changed[1].begin() + 6, more.begin(), more.end());
    Outcome repeated = run(changed, StrategyKind::kAgain, seed + 100, first.get(), *second);
    EXPECT_EQ(std::erase(repeated.acquisitions, std::pair<ThreadNumber, std::uint64_t>{2, 99}), 1U);
    EXPECT_EQ(repeated.acquisitions, original.acquisitions);
    EXPECT_EQ(repeated.counters.diverged, 1U);
  }
}

TEST_F(AgainTest, ALogThatLiesAboutItsLengthIsReadToItsEndOnly) {
  first->header.acquisition_count = ~0U;
  const Outcome outcome = run(figure_2(10), StrategyKind::kAgain, 1, first.get(), *second);
  EXPECT_EQ(outcome.unfinished, 0U);
}

TEST_F(AgainTest, WithoutALogEverybodyGoes) {
  const Program program = figure_2(10);
  EXPECT_EQ(run(program, StrategyKind::kAgain, 1, nullptr, *second).counters.suspensions, 0U);
  EXPECT_EQ(run(program, StrategyKind::kAgain, 1, first.get(), *second).counters.suspensions, 0U);
}

}  // namespace
}  // namespace deadheat::schedule
