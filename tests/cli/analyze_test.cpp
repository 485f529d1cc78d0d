// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "cli/shell.h"
#include "cli/traces.h"
#include "support/json_report.h"

namespace deadheat {
namespace {

class AnalyzeTest : public testing::Test {
 protected:
  AnalyzeTest() {
    shell.write_file("racy.trace", kRacyTrace);
    shell.write_file("quiet.trace", kQuietTrace);
    shell.write_file("invalid.trace", kInvalidTrace);
  }
  Shell shell;
};

TEST_F(AnalyzeTest, RacyTraceIsReportedWithBothSidesAndExitCode66) {
  const CommandResult result = shell.run("deadheat analyze racy.trace");
  EXPECT_EQ(result.exit_code, 66);
  EXPECT_EQ(result.errors, "");
  EXPECT_TRUE(contains(result.output, "1. write-write race on accounts + 8 (8 bytes at 0x601048)\n")) << result.output;
  EXPECT_TRUE(contains(result.output, "transfer  bank.cpp:31")) << result.output;
  EXPECT_TRUE(contains(result.output, "serve    main.cpp:7")) << result.output;
  EXPECT_TRUE(contains(result.output, "holds audit")) << result.output;
  EXPECT_TRUE(contains(result.output, "deadheat: 1 data race (1 occurrence) in 8 events, 2 threads\n"))
      << result.output;
}

TEST_F(AnalyzeTest, QuietTraceIsExitCode0) {
  const CommandResult result = shell.run("deadheat analyze quiet.trace");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.output, "deadheat: no data races in 8 events, 2 threads\n");
  EXPECT_EQ(result.errors, "");
}

TEST_F(AnalyzeTest, ATraceWithoutAccessesIsNotATraceWithoutRaces) {
  shell.write_file("comment.trace", "# nothing happened\n");
  shell.write_file("locks.trace", "0 fork 1\n0 acquire m\n0 release m\n");
  const CommandResult none = shell.run("deadheat analyze comment.trace");
  EXPECT_EQ(none.exit_code, 3);
  EXPECT_EQ(none.output, "deadheat: nothing was looked at: the trace has no events\n");
  const CommandResult locks = shell.run("deadheat analyze locks.trace");
  EXPECT_EQ(locks.exit_code, 3);
  EXPECT_EQ(locks.output, "deadheat: nothing was looked at: no access to memory is among its 3 events\n");
  EXPECT_EQ(shell.run("deadheat analyze --detector pacer quiet.trace").exit_code, 3) << "no period has an access";
  EXPECT_EQ(shell.run("touch empty && deadheat analyze empty").exit_code, 1);
}

// Whatever opens the path, and however slowly it comes.
TEST_F(AnalyzeTest, EveryFormatComesThroughPipes) {
  shell.write_file("small.std", "T0|fork(T1)|1\nT0|w(x)|2\nT1|w(x)|3\n");
  ASSERT_EQ(shell.run("deadheat trace convert racy.trace racy.dht").exit_code, 0);
  for (const std::string file : {"racy.trace", "racy.dht", "small.std"}) {
    for (const std::string reader :
         {"cat FILE | deadheat analyze -", "cat FILE | deadheat analyze /dev/stdin", "deadheat analyze - < FILE",
          "deadheat analyze <(cat FILE)", "{ head -c 5 FILE; sleep 0.05; tail -c +6 FILE; } | deadheat analyze -",
          "mkfifo -m 600 fifo; cat FILE > fifo & deadheat analyze fifo"}) {
      std::string command = reader;
      for (std::size_t at = 0; (at = command.find("FILE", at)) != std::string::npos;) command.replace(at, 4, file);
      const CommandResult result = shell.run(command);
      EXPECT_EQ(result.exit_code, 66) << command << ": " << result.output << result.errors;
      EXPECT_TRUE(contains(result.output, "deadheat: 1 data race")) << command << result.output;
    }
    EXPECT_EQ(shell.run("cat " + file + " | deadheat trace check -").exit_code, 0) << file;
    EXPECT_EQ(shell.run("cat " + file + " | deadheat trace stats /dev/stdin").exit_code, 0) << file;
  }
  const CommandResult nothing = shell.run("true | deadheat analyze -");
  EXPECT_EQ(nothing.exit_code, 1);
  EXPECT_TRUE(contains(nothing.errors, "cannot open trace '-': it is empty")) << nothing.errors;
}

TEST_F(AnalyzeTest, EveryDetectorFindsTheRace) {
  for (const std::string detector : {"fasttrack", "slimstate", "djit", "reference", "literace"}) {
    const CommandResult result = shell.run("deadheat analyze --format json --detector " + detector + " racy.trace");
    ASSERT_EQ(result.exit_code, 66) << detector << result.errors;
    EXPECT_EQ(json_at(result.output, "/detector/name"), "\"" + detector + "\"");
    EXPECT_EQ(json_at(result.output, "/summary/races"), "1") << detector;
  }
}

TEST_F(AnalyzeTest, ReferenceRefusesRangesThatItCannotBear) {
  shell.write_file("huge.trace", "T0 write 0x10000 8\nT0 free 0x20000 0x10000000000\n");
  const CommandResult reference = shell.run("deadheat analyze --detector reference huge.trace");
  EXPECT_EQ(reference.exit_code, 1);
  EXPECT_TRUE(contains(reference.errors, "event 1: a range of 1099511627776 bytes is too much")) << reference.errors;
  EXPECT_EQ(shell.run("deadheat analyze huge.trace").exit_code, 0);
}

TEST_F(AnalyzeTest, SuppressedRacesAreCountedAndDoNotFail) {
  shell.write_file("function.supp", "race:^transfer$\n");
  shell.write_file("variable.supp", "race:^accounts$\n");
  shell.write_file("other.supp", "race:^somebody_else$\n");
  for (const std::string file : {"function.supp", "variable.supp"}) {
    const CommandResult result = shell.run("deadheat analyze racy.trace --suppressions " + file);
    EXPECT_EQ(result.exit_code, 0) << file;
    EXPECT_EQ(result.output, "deadheat: no data races in 8 events, 2 threads, 1 suppressed\n") << file;
  }
  const CommandResult other = shell.run("deadheat analyze racy.trace --suppressions other.supp");
  EXPECT_EQ(other.exit_code, 66);
  const CommandResult json =
      shell.run("deadheat analyze --format json racy.trace --suppressions other.supp --suppressions function.supp");
  EXPECT_EQ(json_at(json.output, "/summary/suppressed"), "1");
  EXPECT_EQ(json_at(json.output, "/suppressions/1/races"), "1");
  EXPECT_EQ(schema_violations(json.output), std::vector<std::string>{});
  const CommandResult missing = shell.run("deadheat analyze racy.trace --suppressions none.supp");
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_TRUE(contains(missing.errors, "cannot read suppressions 'none.supp'")) << missing.errors;
}

TEST_F(AnalyzeTest, JsonSatisfiesThePublishedSchema) {
  const CommandResult result = shell.run("deadheat analyze --format json racy.trace");
  EXPECT_EQ(schema_violations(result.output), std::vector<std::string>{});
}

TEST_F(AnalyzeTest, InvalidEventIsAnErrorAfterTheFindingsBeforeIt) {
  const CommandResult result = shell.run("deadheat analyze invalid.trace");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(contains(result.output, "1. write-write race on balance")) << result.output;
  EXPECT_TRUE(contains(result.output, "in 4 events")) << result.output;
  EXPECT_TRUE(contains(result.errors, "deadheat: error: 'invalid.trace': event 4: ")) << result.errors;
  EXPECT_TRUE(contains(result.errors, "; the report covers the 4 events before that\n")) << result.errors;
}

TEST_F(AnalyzeTest, JsonOfAnInvalidTraceSaysThatItIsIncomplete) {
  const CommandResult result = shell.run("deadheat analyze --format json invalid.trace");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(json_at(result.output, "/trace/complete"), "false");
  EXPECT_EQ(json_at(result.output, "/trace/events"), "4");
}

TEST_F(AnalyzeTest, NoCheckTrustsTheTrace) {
  const CommandResult result = shell.run("deadheat analyze --no-check invalid.trace");
  EXPECT_EQ(result.exit_code, 66);
  EXPECT_TRUE(contains(result.output, "in 6 events")) << result.output;
  EXPECT_EQ(result.errors, "");
}

TEST_F(AnalyzeTest, TruncatedBinaryTraceYieldsItsPrefixAndAWarning) {
  const CommandResult result = shell.run(
      "deadheat trace generate whole.dht --events 200000 --race-density 0.01 && "
      "head -c $(($(stat -c %s whole.dht) / 2)) whole.dht > half.dht && deadheat analyze half.dht");
  EXPECT_EQ(result.exit_code, 66) << result.errors;
  EXPECT_TRUE(contains(result.errors, "deadheat: warning: ")) << result.errors;
  EXPECT_TRUE(contains(result.errors, "half.dht")) << result.errors;
  EXPECT_TRUE(contains(result.errors, "; the report covers the ")) << result.errors;
}

TEST_F(AnalyzeTest, StrictAtomicsCutsTheReleaseSequenceOfARelaxedStore) {
  shell.write_file("sequence.trace",
                   "0 fork 1\n"
                   "0 write data 8\n"
                   "0 atomic_store flag 8 release\n"
                   "0 atomic_store flag 8 relaxed\n"
                   "1 atomic_load flag 8 acquire\n"
                   "1 read data 8\n");
  EXPECT_EQ(shell.run("deadheat analyze sequence.trace").exit_code, 0);
  EXPECT_EQ(shell.run("deadheat analyze sequence.trace --strict-atomics").exit_code, 66);
}

TEST_F(AnalyzeTest, ColourIsOffInPipesAndOnWhenAskedFor) {
  EXPECT_FALSE(contains(shell.run("deadheat analyze racy.trace | cat").output, "\x1b"));
  EXPECT_TRUE(contains(shell.run("deadheat analyze --color always racy.trace | cat").output, "\x1b[1;31m"));
  EXPECT_TRUE(contains(shell.run("NO_COLOR=1 deadheat analyze --color always racy.trace").output, "\x1b[1;31m"));
}

TEST_F(AnalyzeTest, StatsShowTheCountersOfTheRules) {
  const CommandResult result = shell.run("deadheat analyze --stats racy.trace");
  EXPECT_EQ(result.exit_code, 66);
  EXPECT_TRUE(contains(result.output, "write exclusive")) << result.output;
}

TEST_F(AnalyzeTest, OutputGoesToTheFileAndTheSummaryToStandardError) {
  const CommandResult result = shell.run("deadheat analyze racy.trace --output report.txt");
  EXPECT_EQ(result.exit_code, 66);
  EXPECT_EQ(result.output, "");
  EXPECT_EQ(result.errors, "deadheat: 1 data race (1 occurrence) in 8 events, 2 threads\n");
  EXPECT_TRUE(contains(shell.read_file("report.txt"), "1. write-write race"));
}

TEST_F(AnalyzeTest, LongerOldReportIsReplacedWhole) {
  shell.write_file("report.txt", std::string(100'000, 'x'));
  EXPECT_EQ(shell.run("deadheat analyze quiet.trace --output report.txt").exit_code, 0);
  EXPECT_EQ(shell.read_file("report.txt"), "deadheat: no data races in 8 events, 2 threads\n");
}

TEST_F(AnalyzeTest, TraceIsNotOverwrittenByItsOwnReport) {
  const CommandResult result = shell.run("deadheat analyze racy.trace --output ./racy.trace");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(contains(result.errors, "is the trace itself")) << result.errors;
  EXPECT_EQ(shell.read_file("racy.trace"), kRacyTrace);
}

TEST_F(AnalyzeTest, UnwritableOutputIsOneLine) {
  const CommandResult result = shell.run("deadheat analyze racy.trace --output missing/report.txt");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.errors, "deadheat: error: cannot write 'missing/report.txt': No such file or directory\n");
}

TEST_F(AnalyzeTest, FullDiskIsReported) {
  const CommandResult to_option = shell.run("deadheat analyze racy.trace --output /dev/full");
  EXPECT_EQ(to_option.exit_code, 1);
  EXPECT_EQ(to_option.errors, "deadheat: error: cannot write '/dev/full': No space left on device\n");
  const CommandResult to_output = shell.run("deadheat analyze racy.trace > /dev/full");
  EXPECT_EQ(to_output.exit_code, 1);
  EXPECT_EQ(to_output.errors, "deadheat: error: cannot write standard output: No space left on device\n");
}

TEST_F(AnalyzeTest, ClosedStandardOutputIsReported) {
  const CommandResult result = shell.run("deadheat analyze racy.trace >&-");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.errors, "deadheat: error: cannot write standard output: Bad file descriptor\n");
}

TEST_F(AnalyzeTest, ReaderThatGoesAwayCostsNeitherNoiseNorExitCode) {
  const CommandResult result = shell.run(
      "deadheat trace generate many.dht --events 50000 --race-density 0.5 --variables 2000\n"
      "deadheat analyze many.dht | true; echo ${PIPESTATUS[0]}");
  EXPECT_EQ(result.output, "66\n");
  EXPECT_EQ(result.errors, "");
}

TEST_F(AnalyzeTest, BundledExamplesHaveTheRacesThatTheirReadmePromises) {
  const struct {
    std::string trace;
    std::string races;
  } examples[] = {{"bank.trace", "3"}, {"publish.trace", "1"}, {"std/counter.std", "1"}};
  for (const auto& [trace, races] : examples) {
    const CommandResult result =
        shell.run("deadheat analyze --format json '" DEADHEAT_SOURCE_DIR "/examples/traces/" + trace + "'");
    ASSERT_EQ(result.exit_code, 66) << trace << ": " << result.errors;
    EXPECT_EQ(json_at(result.output, "/summary/races"), races) << trace;
  }
}

TEST_F(AnalyzeTest, BadInputsAreOneLineEach) {
  shell.write_file("empty", "");
  shell.write_file("garbage", std::string("\x7f"
                                          "ELF\x02\x01\x01\0\0\0\0\0\xff\xfe",
                                          14));
  for (const std::string input : {"missing", ".", "empty", "garbage", "/dev/null"}) {
    const CommandResult result = shell.run("deadheat analyze " + input);
    EXPECT_EQ(result.exit_code, 1) << input;
    EXPECT_EQ(result.output, "") << input;
    EXPECT_EQ(result.errors.rfind("deadheat: error: ", 0), 0U) << result.errors;
    EXPECT_TRUE(contains(result.errors, "'" + input + "'")) << result.errors;
    EXPECT_EQ(result.errors.find('\n'), result.errors.size() - 1) << result.errors;
  }
}

}  // namespace
}  // namespace deadheat
