// SPDX-License-Identifier: Apache-2.0
// `deadheat analyze` with detectors that sample.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/shell.h"
#include "cli/traces.h"
#include "support/json_report.h"

namespace deadheat {
namespace {

class SamplingTest : public testing::Test {
 protected:
  SamplingTest() { shell.write_file("racy.trace", kRacyTrace); }
  CommandResult analyze(const std::string& arguments) { return shell.run("deadheat analyze " + arguments); }
  Shell shell;
};

TEST_F(SamplingTest, AtFullRateTheRaceIsFoundAndTheRateIsSaid) {
  const CommandResult result = analyze("racy.trace --detector pacer --rate 100%");
  EXPECT_EQ(result.exit_code, 66);
  EXPECT_EQ(result.errors, "");
  EXPECT_TRUE(contains(result.output, "1. write-write race on accounts + 8")) << result.output;
  EXPECT_TRUE(contains(result.output,
                       "deadheat: 1 data race (1 occurrence) in 8 events, 2 threads\n"
                       "deadheat: sampled 2 of 2 accesses, effective rate 100%\n"))
      << result.output;
}

TEST_F(SamplingTest, AtRateZeroNothingIsFound) {
  const CommandResult result = analyze("racy.trace --detector pacer --rate 0");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(result.output,
            "deadheat: nothing was looked at: no access was sampled\n"
            "deadheat: sampled 0 of 2 accesses, effective rate 0%\n");
}

TEST_F(SamplingTest, TheEffectiveRateTracksTheRate) {
  ASSERT_EQ(shell.run("deadheat trace generate big.dht --events 200000").exit_code, 0);
  for (const auto& [rate, seed] : {std::pair<std::string, std::string>{"3%", "1"}, {"0.03", "2"}, {"3e-2", "3"}}) {
    const CommandResult result =
        analyze("big.dht --detector pacer --period 100 --format json --rate " + rate + " --seed " + seed);
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    EXPECT_NEAR(std::stod(json_at(result.output, "/detector/sampling/effective_rate")), 0.03, 0.001);
    EXPECT_EQ(schema_violations(result.output), std::vector<std::string>{});
  }
}

TEST_F(SamplingTest, TheSeedDecidesWhichRacesAreFound) {
  ASSERT_EQ(shell.run("deadheat trace generate racy.dht --events 200000 --race-density 0.01").exit_code, 0);
  const std::string command = "racy.dht --detector pacer --rate 10% --seed ";
  const CommandResult once = analyze(command + "1");
  EXPECT_EQ(once.exit_code, 66);
  EXPECT_EQ(once.output, analyze(command + "1").output);
  EXPECT_NE(once.output, analyze(command + "2").output);
}

TEST_F(SamplingTest, WithoutARateThePeriodsOfTheTraceCount) {
  shell.write_file("periods.trace",
                   "0 fork 1\n"
                   "0 write before 8\n"
                   "0 sampling_begin\n"
                   "0 write inside 8\n"
                   "0 sampling_end\n"
                   "1 write before 8\n"
                   "1 write inside 8\n");
  const CommandResult result = analyze("periods.trace --detector pacer");
  EXPECT_EQ(result.exit_code, 66);
  EXPECT_TRUE(contains(result.output, "race on inside")) << result.output;
  EXPECT_FALSE(contains(result.output, "race on before")) << result.output;
  EXPECT_TRUE(contains(result.output, "deadheat: sampled 1 of 4 accesses, effective rate 25%\n")) << result.output;
}

TEST_F(SamplingTest, ATraceWithoutPeriodsAndNoRateIsPointedOut) {
  const CommandResult result = analyze("racy.trace --detector pacer");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_TRUE(contains(result.errors, "nothing was sampled")) << result.errors;
  EXPECT_TRUE(contains(result.errors, "--rate")) << result.errors;
}

TEST_F(SamplingTest, BadRatesAreUsageErrors) {
  for (const std::string rate : {"''", "x", "3%%", "%", "101%", "1.01", "-1", "nan", "inf", "3 %", "0x1"}) {
    const CommandResult result = analyze("racy.trace --detector pacer --rate " + (rate == "3 %" ? "'3 %'" : rate));
    EXPECT_EQ(result.exit_code, 2) << rate;
    EXPECT_EQ(result.errors.rfind("deadheat: error: ", 0), 0U) << rate << ": " << result.errors;
    EXPECT_EQ(result.errors.find('\n'), result.errors.size() - 1) << result.errors;
  }
  EXPECT_TRUE(contains(analyze("racy.trace --detector pacer --rate 101%").errors,
                       "'101%' is no rate: write 3% or 0.03, from 0 to 1"));
  EXPECT_EQ(analyze("racy.trace --detector pacer --rate 3% --period 0").exit_code, 2);
  EXPECT_EQ(analyze("racy.trace --detector pacer --rate 3% --seed x").exit_code, 2);
}

TEST_F(SamplingTest, OptionsOfPacerAreRefusedElsewhere) {
  const CommandResult result = analyze("racy.trace --rate 3%");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.errors, "deadheat: error: --rate is for --detector pacer; see 'deadheat analyze --help'\n");
  const CommandResult seed = analyze("racy.trace --detector pacer --seed 3");
  EXPECT_EQ(seed.exit_code, 2);
  EXPECT_EQ(seed.errors, "deadheat: error: --seed needs --rate; see 'deadheat analyze --help'\n");
}

TEST_F(SamplingTest, StatsShowTheOperationsInAndOutOfPeriods) {
  const CommandResult result = analyze("racy.trace --detector pacer --rate 50% --period 1 --stats");
  for (const std::string counter : {"sampling slow joins", "sampling deep copies", "non-sampling fast joins",
                                    "non-sampling shallow copies", "non-sampling fast writes"}) {
    EXPECT_TRUE(contains(result.output, counter)) << counter << " in\n" << result.output;
  }
}

TEST_F(SamplingTest, LiteRaceFindsRacesOfColdCodeAndSaysWhatItLookedAt) {
  const CommandResult result = analyze("racy.trace --detector literace --stats");
  EXPECT_EQ(result.exit_code, 66);
  EXPECT_TRUE(contains(result.output, "deadheat: sampled 2 of 2 accesses, effective rate 100%\n")) << result.output;
  EXPECT_TRUE(contains(result.output, "sampled calls")) << result.output;
}

}  // namespace
}  // namespace deadheat
