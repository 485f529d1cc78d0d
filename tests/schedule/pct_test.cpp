// SPDX-License-Identifier: Apache-2.0
#include "schedule/pct.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "support/simulated_program.h"

namespace deadheat::schedule {
namespace {

using Order = std::vector<std::pair<ThreadNumber, Address>>;

// Addresses that only one thread uses, so that the order is told by those of the bug.
constexpr Address kBug = 8;
Code padded(std::uint64_t before, const Code& part, std::uint64_t after) {
  Code code;
  for (; before > 0; --before) code.push_back(read(1));
  code.insert(code.end(), part.begin(), part.end());
  for (; after > 0; --after) code.push_back(read(1));
  return code;
}

Order bug_part(const Outcome& outcome) {
  Order order;
  for (const auto& access : outcome.accesses) {
    if (access.second >= kBug) order.push_back(access);
  }
  return order;
}

struct Frequency {
  double measured = 0;
  double bound = 0;
  int runs = 0;

  // The bound is met exactly by the worst bugs: leave room for three standard deviations.
  [[nodiscard]] bool keeps_bound() const { return measured > bound - 3 * std::sqrt(bound / runs); }
};

// Every access is a step, and the run before has told how many there are.
Frequency frequency_of(const Order& bug, const Program& program, std::uint32_t depth, int runs) {
  const auto input = make_run_file();
  SimulationOptions options;
  options.are_accesses_points = true;
  options.output = input.get();
  (void)simulate(program, options);
  options.output = nullptr;
  options.input = input.get();
  int met = 0;
  for (int run = 1; run <= runs; ++run) {
    options.settings = {.strategy = StrategyKind::kPct, .seed = static_cast<std::uint64_t>(run)};
    options.settings.bug_depth = depth;
    options.machine_seed = static_cast<std::uint64_t>(run) * 7;
    met += bug_part(simulate(program, options)) == bug ? 1 : 0;
  }
  double bound = 1.0 / static_cast<double>(program.size());
  for (std::uint32_t at = 1; at < depth; ++at) bound /= static_cast<double>(input->header.counters.steps);
  return {static_cast<double>(met) / runs, bound, runs};
}

TEST(Pct, ABugOfDepthOneIsMetAsOftenAsItsBound) {
  const Program program = {padded(3, {write(kBug)}, 0), padded(3, {write(kBug)}, 0), padded(3, {}, 0)};
  const Frequency frequency = frequency_of({{2, kBug}, {1, kBug}}, program, 1, 1000);
  EXPECT_TRUE(frequency.keeps_bound()) << frequency.measured << " of " << frequency.bound;
  EXPECT_NEAR(frequency.measured, 0.5, 0.06);
}

TEST(Pct, ABugOfDepthTwoIsMetAsOftenAsItsBound) {
  const Program program = {padded(4, {write(kBug), write(kBug)}, 4), padded(2, {write(kBug)}, 6)};
  const Order torn = {{1, kBug}, {2, kBug}, {1, kBug}};
  const Frequency frequency = frequency_of(torn, program, 2, 10'000);
  EXPECT_TRUE(frequency.keeps_bound()) << frequency.measured << " of " << frequency.bound;
  EXPECT_EQ(frequency_of(torn, program, 1, 500).measured, 0);
}

TEST(Pct, ABugOfDepthThreeIsMetAsOftenAsItsBound) {
  const Program program = {padded(1, {write(kBug), write(kBug)}, 1), padded(1, {write(kBug), write(kBug)}, 1)};
  const Order zigzag = {{1, kBug}, {2, kBug}, {1, kBug}, {2, kBug}};
  const Frequency frequency = frequency_of(zigzag, program, 3, 10'000);
  EXPECT_TRUE(frequency.keeps_bound()) << frequency.measured << " of " << frequency.bound;
  EXPECT_EQ(frequency_of(zigzag, program, 2, 500).measured, 0);
}

TEST(Pct, OneThreadRunsAtATime) {
  const Program program = {padded(20, {}, 0), padded(20, {}, 0), padded(20, {}, 0)};
  SimulationOptions options;
  options.are_accesses_points = true;
  options.settings = {.strategy = StrategyKind::kPct, .seed = 3};
  options.settings.bug_depth = 1;
  const Outcome outcome = simulate(program, options);
  int changes = 0;
  for (std::size_t at = 1; at < outcome.accesses.size(); ++at) {
    changes += outcome.accesses[at].first != outcome.accesses[at - 1].first ? 1 : 0;
  }
  // Each thread once, and the one that is first while the others come to their first points.
  EXPECT_LE(changes, 6);
  EXPECT_EQ(outcome.counters.thrashings, 0U);
}

TEST(Pct, WhoLetsOthersStarveFallsBehind) {
  const Program program = {padded(5, {work(5000)}, 5), padded(5, {}, 0)};
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SimulationOptions options;
    options.are_accesses_points = true;
    options.time_limit = 100;
    options.settings = {.strategy = StrategyKind::kPct, .seed = seed};
    const Outcome outcome = simulate(program, options);
    EXPECT_LE(outcome.counters.timeouts, 2U);
    EXPECT_EQ(outcome.unfinished, 0U);
  }
}

}  // namespace
}  // namespace deadheat::schedule
