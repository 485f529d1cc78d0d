// SPDX-License-Identifier: Apache-2.0
// `deadheat run --rate` and what is said at the end, with a program that only plays one.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/shell.h"
#include "support/json_report.h"

namespace deadheat {
namespace {

constexpr char kUnknown[] = "deadheat: which share of the work was sampled is not known: ";

// DEADHEAT_OPTIONS as the program gets it, without what every run sets.
std::string options_of(const std::string& arguments, const std::string& environment = "") {
  const CommandResult result =
      Shell().run(environment + " deadheat run -q " + arguments + " deadheat_fake_program options clean");
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  const std::string usual = "exitcode=0:halt_on_error=0";
  const std::size_t begin = result.output.find(usual);
  if (begin == std::string::npos) return result.output;
  return result.output.substr(0, begin) + result.output.substr(begin + usual.size());
}

TEST(RunSamplingTest, RateBudgetPeriodAndSeedReachTheRuntime) {
  EXPECT_EQ(options_of("--rate 3%"), ":rate=30000\n");
  EXPECT_EQ(options_of("--rate 0.5"), ":rate=500000\n");
  EXPECT_EQ(options_of("--rate 0"), ":rate=0\n");
  EXPECT_EQ(options_of("--rate 100%"), ":rate=1000000\n");
  EXPECT_EQ(options_of("--rate 1e-9"), ":rate=1\n") << "the smallest, not none";
  EXPECT_EQ(options_of("--budget 5%"), ":budget=50000\n");
  EXPECT_EQ(options_of("--rate 10% --budget 5% --period 500us --seed 7"),
            ":rate=100000:budget=50000:period_us=500:seed=7\n");
  EXPECT_EQ(options_of("--rate 3% --period 1.5ms"), ":rate=30000:period_us=1500\n");
  EXPECT_EQ(options_of("--rate 3% --horizon 25ms"), ":rate=30000:horizon_us=25000\n");
  EXPECT_EQ(options_of("--rate 3% --horizon forever"), ":rate=30000:horizon_us=-1\n");
  EXPECT_EQ(options_of("--rate 3% --period 10s"), ":rate=30000:period_us=10000000\n");
}

TEST(RunSamplingTest, TheEnvironmentCanAskForItAndTheCommandLineWins) {
  EXPECT_EQ(options_of("--seed 7", "DEADHEAT_OPTIONS=rate=1000"), "rate=1000::rate=1000:seed=7\n");
  EXPECT_EQ(options_of("--rate 3%", "DEADHEAT_OPTIONS=rate=1000"), "rate=1000::rate=30000\n");
  EXPECT_EQ(options_of("", "DEADHEAT_OPTIONS=rate=-1"), "rate=-1:\n");
  const CommandResult killed = Shell().run(
      "DEADHEAT_OPTIONS=rate=1000 deadheat run deadheat_fake_program kill; DEADHEAT_OPTIONS=rate=-1 "
      "deadheat run deadheat_fake_program kill");
  EXPECT_TRUE(contains(killed.errors, kUnknown)) << killed.errors;
  EXPECT_EQ(killed.errors.find(kUnknown), killed.errors.rfind(kUnknown)) << "the second checks everything";
}

TEST(RunSamplingTest, BadValuesAreUsageErrors) {
  const struct {
    std::string arguments;
    std::string message;
  } cases[] = {
      {"--rate 101%", "'101%' is no rate: write 3% or 0.03, from 0 to 1"},
      {"--rate x", "'x' is no rate"},
      {"--budget 2", "'2' is no budget: write 3% or 0.03, from 0 to 1"},
      {"--budget 0", "a budget of 0 leaves no time to sample; see 'deadheat run --help'"},
      {"--rate 3% --period 5", "'5' is no period: write 500us, 1ms or 2s, from 50us to 10s"},
      {"--rate 3% --period 49us", "'49us' is no period"},
      {"--rate 3% --period 11s", "'11s' is no period"},
      {"--rate 3% --period nanms", "'nanms' is no period"},
      {"--rate 3% --period ms", "'ms' is no period"},
      {"--rate 3% --period -1ms", "'-1ms' is no period"},
      {"--rate 3% --seed 0", "see 'deadheat run --help'"},
      {"--rate 3% --seed x", "see 'deadheat run --help'"},
      {"--seed 7", "--seed needs --rate or --budget; see 'deadheat run --help'"},
      {"--period 1ms", "--period needs --rate or --budget; see 'deadheat run --help'"},
      {"--rate 3% --record run.dht", "--record keeps every event and cannot go with sampling"},
      {"--budget 3% --record run.dht", "--record keeps every event and cannot go with sampling"},
  };
  for (const auto& [arguments, message] : cases) {
    const CommandResult result = Shell().run("deadheat run " + arguments + " deadheat_fake_program options");
    EXPECT_EQ(result.exit_code, 2) << arguments;
    EXPECT_EQ(result.output, "") << arguments;
    EXPECT_EQ(result.errors.rfind("deadheat: error: ", 0), 0U) << arguments << ": " << result.errors;
    EXPECT_TRUE(contains(result.errors, message)) << arguments << ": " << result.errors;
    EXPECT_EQ(result.errors.find('\n'), result.errors.size() - 1) << result.errors;
  }
}

TEST(RunSamplingTest, BadValuesInTheEnvironmentAreUsageErrors) {
  const Shell shell;
  const CommandResult share = shell.run("DEADHEAT_OPTIONS=rate=3% deadheat run deadheat_fake_program options");
  EXPECT_EQ(share.exit_code, 2);
  EXPECT_EQ(share.errors,
            "deadheat: error: rate=3% in DEADHEAT_OPTIONS is not a number of parts per million, from 0 to 1000000; "
            "'--rate 3%' is\n");
  EXPECT_EQ(shell.run("DEADHEAT_OPTIONS=budget=-1 deadheat run deadheat_fake_program options").exit_code, 2);
  const CommandResult record =
      shell.run("DEADHEAT_OPTIONS=rate=1000 deadheat run --record run.dht deadheat_fake_program options");
  EXPECT_EQ(record.exit_code, 2);
  EXPECT_TRUE(contains(record.errors, "--record keeps every event and cannot go with sampling")) << record.errors;
}

TEST(RunSamplingTest, TheGuaranteeIsSaidAfterTheSummary) {
  const CommandResult result = Shell().run("deadheat run --rate 3% deadheat_fake_program sampled clean");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.errors,
            "deadheat: no data races; program ended with status 0\n"
            "deadheat: sampled 2.98% of the work (asked for 3%) in 298 periods: 48,211,034 accesses; it took 4.76% of "
            "the processor time; seed 81234\n"
            "deadheat: a race that occurs once in every run is found in a run with probability 3%\n"
            "deadheat: one run says little: it takes 99 runs without a report to exclude such a race with 95% "
            "confidence, and 998 to know that it occurs in less than 10% of the runs\n");
}

TEST(RunSamplingTest, NothingSampledAndNothingKnownAreSaid) {
  const Shell shell;
  const CommandResult nothing = shell.run("deadheat run --rate 3% deadheat_fake_program nothing-sampled clean");
  EXPECT_TRUE(
      contains(nothing.errors, "deadheat: nothing was sampled (asked for 3%), so this run by itself says nothing"))
      << nothing.errors;
  EXPECT_TRUE(contains(shell.run("deadheat run --rate 3% deadheat_fake_program clean").errors, kUnknown));
  EXPECT_FALSE(contains(shell.run("deadheat run deadheat_fake_program clean").errors, kUnknown));
  EXPECT_FALSE(contains(shell.run("deadheat run --rate 3% --force true").errors, kUnknown)) << "nothing was checked";
}

TEST(RunSamplingTest, AProcessThatDidNotSayItsShareIsCounted) {
  const CommandResult result = Shell().run("deadheat run --rate 3% deadheat_fake_program fork sampled clean");
  EXPECT_TRUE(contains(result.errors, "deadheat: how much 1 of 2 processes sampled is not known\n")) << result.errors;
}

TEST(RunSamplingTest, QuietSaysNothingOfIt) {
  EXPECT_EQ(Shell().run("deadheat run --rate 3% -q deadheat_fake_program sampled clean").errors, "");
  EXPECT_EQ(Shell().run("deadheat run --rate 3% -q deadheat_fake_program clean").errors, "");
}

TEST(RunSamplingTest, JsonHasTheAmounts) {
  const Shell shell;
  EXPECT_EQ(
      shell.run("deadheat run --rate 3% --format json -o races.json deadheat_fake_program sampled race").exit_code, 66);
  const std::string document = shell.read_file("races.json");
  EXPECT_EQ(schema_violations(document), std::vector<std::string>{});
  EXPECT_EQ(json_at(document, "/sampling/effective_rate"), "0.0298");
  EXPECT_EQ(json_at(document, "/sampling/guarantee/runs_to_exclude"), "99");
  EXPECT_EQ(json_at(document, "/sampling/expected_rate"), "0.03");
  EXPECT_EQ(shell.run("deadheat run --rate 3% --format json -o none.json deadheat_fake_program clean").exit_code, 0);
  EXPECT_EQ(json_at(shell.read_file("none.json"), "/sampling"), "null");
}

TEST(RunSamplingTest, RawFilesOfADirectlyStartedProgramHaveTheGuarantee) {
  const CommandResult result =
      Shell().run("FAKE_RAW_FILE=raw deadheat_fake_program sampled clean && deadheat report raw");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(
      contains(result.output, "deadheat: no data races\ndeadheat: sampled 2.98% of the work (asked for 3%) in "))
      << result.output;
}

TEST(RunSamplingTest, ServerEndedByASignalSaysItsShare) {
  const Shell shell;
  shell.write_file("server.cpp",
                   "#include <csignal>\n"
                   "#include <ctime>\n"
                   "#include <thread>\n"
                   "int words[1024];\n"
                   "int main() {\n"
                   "  const auto seconds = [] { timespec now; clock_gettime(CLOCK_MONOTONIC, &now);\n"
                   "                            return now.tv_sec + now.tv_nsec * 1e-9; };\n"
                   "  std::thread([&] {\n"
                   "    for (const double end = seconds() + 0.5; seconds() < end;)\n"
                   "      for (int i = 0; i < 1024; ++i) words[i * 7 % 1024] += i;\n"
                   "  }).join();\n"
                   "  raise(SIGTERM);\n"
                   "}\n");
  ASSERT_EQ(shell.run("deadheat c++ -O1 -g -pthread server.cpp -o server").exit_code, 0);
  const CommandResult result = shell.run("deadheat run --no-store --rate 20% ./server");
  EXPECT_TRUE(contains(result.errors, "killed by signal 15")) << result.errors;
  EXPECT_FALSE(contains(result.errors, kUnknown)) << result.errors;
  EXPECT_TRUE(contains(result.errors, "% of the work (asked for 20%) in ")) << result.errors;
}

}  // namespace
}  // namespace deadheat
