// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "cli/shell.h"
#include "cli/traces.h"

namespace deadheat {
namespace {

class TraceCommandsTest : public testing::Test {
 protected:
  TraceCommandsTest() {
    shell.write_file("racy.trace", kRacyTrace);
    shell.write_file("quiet.trace", kQuietTrace);
    shell.write_file("invalid.trace", kInvalidTrace);
  }
  Shell shell;
};

TEST_F(TraceCommandsTest, CheckAcceptsGoodTracesAndNamesTheBadOne) {
  const CommandResult result = shell.run("deadheat trace check racy.trace invalid.trace quiet.trace missing");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.output,
            "racy.trace: well formed: 8 events, 2 threads\n"
            "quiet.trace: well formed: 8 events, 2 threads\n");
  EXPECT_TRUE(contains(result.errors, "deadheat: error: 'invalid.trace': event 4: ")) << result.errors;
  EXPECT_TRUE(contains(result.errors, "'missing'")) << result.errors;
  EXPECT_EQ(shell.run("deadheat trace check racy.trace quiet.trace").exit_code, 0);
}

TEST_F(TraceCommandsTest, CheckCallsATruncatedTraceBad) {
  const CommandResult result = shell.run(
      "deadheat trace generate whole.dht --events 100000 && deadheat trace check whole.dht && "
      "head -c $(($(stat -c %s whole.dht) / 2)) whole.dht > half.dht && deadheat trace check half.dht");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(contains(result.output, "whole.dht: well formed: ")) << result.output;
  EXPECT_TRUE(contains(result.errors, "half.dht")) << result.errors;
}

TEST_F(TraceCommandsTest, StatsCountEventsByKindAndThread) {
  const CommandResult result = shell.run("deadheat trace stats racy.trace");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.errors, "");
  EXPECT_EQ(result.output.rfind("racy.trace: 8 events, 2 threads\n", 0), 0U) << result.output;
  EXPECT_TRUE(contains(result.output, "  write                               2\n")) << result.output;
  EXPECT_TRUE(contains(result.output, "  thread 1 (teller)                   5 ")) << result.output;
}

TEST_F(TraceCommandsTest, StatsOfABrokenFileIsOneLine) {
  shell.write_file("broken.trace", "0 fork 1\n0 frobnicate x\n");
  const CommandResult result = shell.run("deadheat trace stats broken.trace");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.output, "");
  EXPECT_TRUE(contains(result.errors, "deadheat: error: 'broken.trace': line 2: ")) << result.errors;
}

TEST_F(TraceCommandsTest, ConversionThereAndBackKeepsTheRaces) {
  const CommandResult result = shell.run(
      "deadheat trace convert racy.trace racy.dht && deadheat trace convert racy.dht again.trace && "
      "deadheat analyze racy.trace > direct; deadheat analyze again.trace > back; cmp direct back && echo same");
  EXPECT_EQ(result.output, "same\n");
  EXPECT_EQ(result.errors, "");
}

TEST_F(TraceCommandsTest, ConvertWritesToStandardOutput) {
  const CommandResult result = shell.run("deadheat trace convert racy.trace --to text - | grep -c write");
  EXPECT_EQ(result.output, "2\n");
  EXPECT_EQ(result.errors, "");
}

TEST_F(TraceCommandsTest, FormatComesFromTheOptionBeforeTheEnding) {
  const CommandResult result =
      shell.run("deadheat trace convert racy.trace text.dht --to text && deadheat trace convert racy.trace real.dht");
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_TRUE(contains(shell.read_file("text.dht"), "0 fork 1"));
  EXPECT_FALSE(contains(shell.read_file("real.dht"), "0 fork 1"));
}

TEST_F(TraceCommandsTest, UnknownEndingAsksForTheFormat) {
  const CommandResult result = shell.run("deadheat trace convert racy.trace racy.bin");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.errors,
            "deadheat: error: cannot tell the format from the name 'racy.bin'; "
            "add --to binary, --to text or --to std\n");
}

TEST_F(TraceCommandsTest, ConversionOntoItselfIsRefused) {
  const CommandResult result = shell.run("deadheat trace convert racy.trace ./racy.trace");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(contains(result.errors, "is input and output at once")) << result.errors;
  EXPECT_EQ(shell.read_file("racy.trace"), kRacyTrace);
}

TEST_F(TraceCommandsTest, FailedConversionLeavesNoHalfFile) {
  shell.write_file("broken.trace", "0 fork 1\n0 frobnicate x\n");
  const CommandResult result = shell.run("deadheat trace convert broken.trace out.dht");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(contains(result.errors, "deadheat: error: 'broken.trace': line 2: ")) << result.errors;
  EXPECT_FALSE(shell.exists("out.dht"));
}

TEST_F(TraceCommandsTest, FullDiskIsReportedByConvertAndGenerate) {
  for (const std::string command :
       {"convert racy.trace /dev/full --to text", "convert racy.trace /dev/full --to binary",
        "generate /dev/full --to binary", "generate - > /dev/full"}) {
    const CommandResult result = shell.run("deadheat trace " + command);
    EXPECT_EQ(result.exit_code, 1) << command;
    EXPECT_TRUE(contains(result.errors, "No space left on device")) << command << ": " << result.errors;
  }
}

TEST_F(TraceCommandsTest, TextOnlyStreamsCannotBeMerged) {
  const CommandResult result = shell.run("deadheat trace convert racy.trace quiet.trace merged.dht");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.errors.rfind("deadheat: error: ", 0), 0U) << result.errors;
  EXPECT_FALSE(shell.exists("merged.dht"));
}

TEST_F(TraceCommandsTest, GenerateRepeatsItselfForTheSameSeedOnly) {
  const CommandResult result = shell.run(
      "for seed in 1 1 2; do deadheat trace generate - --seed $seed --events 1000 | sha256sum; done | uniq | wc -l");
  EXPECT_EQ(result.output, "2\n");
}

TEST_F(TraceCommandsTest, EveryPresetIsWellFormed) {
  for (const std::string preset : {"access-heavy", "lock-heavy", "read-shared", "everything"}) {
    const CommandResult result =
        shell.run("deadheat trace generate t.dht --events 20000 --preset " + preset + " && deadheat trace check t.dht");
    EXPECT_EQ(result.exit_code, 0) << preset << ": " << result.errors;
  }
}

TEST_F(TraceCommandsTest, RaceDensityDecidesWhetherThereAreRaces) {
  EXPECT_EQ(shell.run("deadheat trace generate t.dht --events 20000 && deadheat analyze t.dht").exit_code, 0);
  EXPECT_EQ(
      shell.run("deadheat trace generate t.dht --events 20000 --race-density 0.1 && deadheat analyze t.dht").exit_code,
      66);
}

TEST_F(TraceCommandsTest, StreamThatNobodyReadsEndsQuietly) {
  const CommandResult result = shell.run("deadheat trace generate - --events 1000000 | head -n 1 | wc -l");
  EXPECT_EQ(result.output, "1\n");
  EXPECT_EQ(result.errors, "");
}

}  // namespace
}  // namespace deadheat
