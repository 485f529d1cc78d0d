// SPDX-License-Identifier: Apache-2.0
// `deadheat run` and `deadheat report` with a program that only plays one.
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "cli/shell.h"
#include "support/json_report.h"

namespace deadheat {
namespace {

// The output that a script reads has nothing but the document in it.
TEST(RunTest, DocumentHasStandardOutputForItself) {
  const Shell shell;
  const CommandResult result = shell.run(
      "deadheat run --no-store --format json deadheat_fake_program race | tee one.json; cat one.json >/dev/null");
  EXPECT_EQ(json_at(result.output, "/summary/races"), "1") << result.output;
  EXPECT_TRUE(contains(result.errors, "deadheat: 1 data race")) << result.errors;
  const CommandResult said = shell.run("deadheat run --force --no-store --format json echo word");
  EXPECT_EQ(said.output.rfind("{", 0), 0U) << said.output;
  EXPECT_EQ(said.errors.rfind("word\n", 0), 0U) << said.errors;
}

TEST(RunTest, LogPathOfTheEnvironmentIsAsWithTsan) {
  const Shell shell;
  ASSERT_EQ(shell.run("TSAN_OPTIONS=log_path=log deadheat run --no-store deadheat_fake_program race").exit_code, 66);
  EXPECT_TRUE(contains(shell.run("cat log.*").output, "1. write-write race")) << shell.run("ls; cat log*").output;
  EXPECT_TRUE(
      contains(shell.run("TSAN_OPTIONS=log_path=stdout deadheat run --no-store deadheat_fake_program race").output,
               "1. write-write race"));
}

TEST(RunTest, NothingIsCheckedWhereReportsAreNotWanted) {
  for (const std::string variable : {"TSAN_OPTIONS", "DEADHEAT_OPTIONS"}) {
    const CommandResult result =
        Shell().run(variable + "=report_bugs=0 deadheat run --force --no-store sh -c 'exit 0'");
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    EXPECT_EQ(result.errors, "deadheat: nothing was checked, as report_bugs=0 asks; program ended with status 0\n");
  }
  const CommandResult wins = Shell().run(
      "TSAN_OPTIONS=report_bugs=0 DEADHEAT_OPTIONS=report_bugs=1 deadheat run --force --no-store sh -c 'exit 0'");
  EXPECT_EQ(wins.exit_code, 3) << wins.errors;
}

TEST(RunTest, RaceIsShownInFullAndEndsWithStatus66) {
  const CommandResult result = Shell().run("deadheat run deadheat_fake_program race twice");
  EXPECT_EQ(result.exit_code, 66);
  EXPECT_EQ(result.output, "");
  EXPECT_TRUE(contains(result.errors, "1. write-write race on fake_counter (4 bytes at 0x")) << result.errors;
  EXPECT_TRUE(contains(result.errors,
                       "     later  write of 4 bytes by thread 2 (worker), epoch 4@2\n"
                       "            (anonymous namespace)::increment()  "))
      << result.errors;
  EXPECT_TRUE(contains(result.errors, "fake_program.cpp:")) << result.errors;
  EXPECT_TRUE(contains(result.errors, "    memory  global 'fake_counter' of 4 bytes at 0x")) << result.errors;
  EXPECT_TRUE(contains(result.errors, "deadheat: 1 data race (2 occurrences); program ended with status 0\n"))
      << result.errors;
}

TEST(RunTest, ProgramsOwnStatusIsPassedThroughWithoutRaces) {
  const CommandResult result = Shell().run("deadheat run -- deadheat_fake_program clean exit=7");
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_EQ(result.errors, "deadheat: no data races; program ended with status 7\n");
}

TEST(RunTest, ExitCodeForRacesCanBeChosen) {
  const Shell shell;
  EXPECT_EQ(shell.run("deadheat run --exitcode=3 deadheat_fake_program race exit=7").exit_code, 3);
  EXPECT_EQ(shell.run("deadheat run --exitcode 0 deadheat_fake_program race exit=7").exit_code, 7);
  EXPECT_EQ(shell.run("DEADHEAT_OPTIONS=exitcode=9 deadheat run deadheat_fake_program race").exit_code, 9);
}

TEST(RunTest, ProgramThatIsKilledRightAfterARaceLosesNothing) {
  const CommandResult result = Shell().run("deadheat run deadheat_fake_program race kill");
  EXPECT_EQ(result.exit_code, 66);
  EXPECT_TRUE(contains(result.errors, "1. write-write race on fake_counter")) << result.errors;
  EXPECT_TRUE(contains(result.errors,
                       "deadheat: 1 data race (at least 1 occurrence); program was killed by signal 9 (Killed)\n"))
      << result.errors;
}

TEST(RunTest, SameRaceInAForkedChildIsCountedNotRepeated) {
  const CommandResult result = Shell().run("deadheat run deadheat_fake_program race fork twice");
  EXPECT_EQ(result.exit_code, 66);
  EXPECT_FALSE(contains(result.errors, "2. ")) << result.errors;
  EXPECT_TRUE(contains(result.errors, "deadheat: 1 data race (7 occurrences); ")) << result.errors;
}

TEST(RunTest, SignalForUsAloneIsPassedOnToTheProgram) {
  const CommandResult result = Shell().run(
      "deadheat run deadheat_fake_program race wait-for-term >out & pid=$!\n"
      "until grep -q ready out 2>/dev/null; do sleep 0.02; done; kill -TERM $pid; wait $pid");
  EXPECT_EQ(result.exit_code, 66);
  EXPECT_TRUE(contains(result.errors, "program was killed by signal 15 (Terminated)")) << result.errors;
}

TEST(RunTest, DaemonThatStaysBehindDoesNotHoldTheReportUp) {
  const CommandResult result = Shell().run("deadheat run deadheat_fake_program clean daemon");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(contains(result.errors, "a process that the program started is still running")) << result.errors;
}

TEST(RunTest, SuppressedRacesAreCountedOnly) {
  const Shell shell;
  shell.write_file("known.supp", "# known\nrace:^fake_counter$\nrace_top:other\n");
  const CommandResult result = shell.run("deadheat run --stats --suppressions known.supp deadheat_fake_program race");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_FALSE(contains(result.errors, "write-write")) << result.errors;
  EXPECT_TRUE(contains(result.errors, "deadheat: no data races, 1 suppressed; program ended with status 0\n"));
  EXPECT_TRUE(contains(result.errors, "  suppressed by race:^fake_counter$                 1\n")) << result.errors;
  EXPECT_TRUE(contains(result.errors, "  suppressed by race_top:other                      0\n")) << result.errors;
}

TEST(RunTest, BadSuppressionFileIsAnErrorBeforeTheProgramStarts) {
  const Shell shell;
  shell.write_file("bad.supp", "race:x\nwhatever\n");
  const CommandResult result = shell.run("deadheat run --suppressions bad.supp deadheat_fake_program race");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.errors,
            "deadheat: error: bad.supp:2: 'whatever' has no ':'; a suppression looks like 'race:pattern'\n");
}

TEST(RunTest, MissingSuppressionFileIsSaidBeforeWhatIsWrongWithTheProgram) {
  const CommandResult result = Shell().run("deadheat run --suppressions missing.supp true");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.errors, "deadheat: error: cannot read suppressions 'missing.supp': No such file or directory\n");
}

TEST(RunTest, HaltOnErrorWithSuppressionsEndsTheProgramAtTheFirstRaceThatCounts) {
  const Shell shell;
  shell.write_file("known.supp", "race:other\n");
  const CommandResult result = shell.run(
      "deadheat run --halt-on-error --suppressions known.supp deadheat_fake_program race wait-for-term exit=0");
  EXPECT_EQ(result.exit_code, 66);
  EXPECT_TRUE(contains(result.errors, "; program was ended at the first race\n")) << result.errors;
}

TEST(RunTest, OptionsReachTheRuntimeBehindTheUsersOwn) {
  const CommandResult result = Shell().run(
      "DEADHEAT_OPTIONS=verbose=1 deadheat run --halt-on-error --memory-limit 2G --strict-atomics --stats "
      "deadheat_fake_program options clean");
  EXPECT_EQ(result.output, "verbose=1:exitcode=0:halt_on_error=1:memory_limit=2147483648:strict_atomics=1:stats=1\n");
}

TEST(RunTest, LossesNoticesAndDamageAreSaid) {
  const CommandResult result = Shell().run("deadheat run deadheat_fake_program notice garbage loss");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(contains(result.errors, ": limit reached\n")) << result.errors;
  EXPECT_TRUE(contains(result.errors, "deadheat: warning: a report is damaged: ")) << result.errors;
  EXPECT_TRUE(contains(result.errors, "deadheat: warning: lost: stacks dropped (3)\n")) << result.errors;
  EXPECT_TRUE(contains(result.errors, "deadheat: warning: 1 report could not be read\n")) << result.errors;
}

TEST(RunTest, QuietShowsRacesOnly) {
  const Shell shell;
  EXPECT_EQ(shell.run("deadheat run --quiet deadheat_fake_program notice loss").errors, "");
  const CommandResult result = shell.run("deadheat run -q deadheat_fake_program race");
  EXPECT_EQ(result.errors.rfind("1. write-write race", 0), 0U) << result.errors;
  EXPECT_FALSE(contains(result.errors, "deadheat: ")) << result.errors;
}

TEST(RunTest, JsonGoesToTheFileAndTheSummaryToPeople) {
  const Shell shell;
  const CommandResult result = shell.run("deadheat run --format json -o races.json deadheat_fake_program race twice");
  EXPECT_EQ(result.exit_code, 66);
  EXPECT_EQ(result.errors, "deadheat: 1 data race (2 occurrences); program ended with status 0\n");
  const std::string document = shell.read_file("races.json");
  EXPECT_EQ(json_at(document, "/summary"), R"({"occurrences":2,"races":1,"suppressed":0})");
  EXPECT_EQ(json_at(document, "/run/exit_status"), "0");
  EXPECT_EQ(json_at(document, "/findings/0/variable/name"), R"("fake_counter")");
}

TEST(RunTest, LogPathTakesTheTextOneFilePerProcessIfAsked) {
  const Shell shell;
  const CommandResult result = shell.run(
      "deadheat run --log-path log.txt deadheat_fake_program race; "
      "deadheat run --log-path 'log.%p' deadheat_fake_program race; ls log.[0-9]* | wc -l");
  EXPECT_TRUE(contains(shell.read_file("log.txt"), "1. write-write race")) << result.errors;
  EXPECT_TRUE(contains(shell.read_file("log.txt"), "deadheat: 1 data race"));
  EXPECT_EQ(result.output, "1\n");
}

TEST(RunTest, LogThatCannotBeWrittenIsSaidAndTheReportGoesToStandardError) {
  const Shell shell;
  const CommandResult refused = shell.run("deadheat run --log-path /nowhere/log deadheat_fake_program race");
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_EQ(refused.errors, "deadheat: error: cannot write '/nowhere/log': No such file or directory\n");
  const CommandResult full = shell.run("deadheat run --log-path /dev/full deadheat_fake_program race exit=0");
  EXPECT_EQ(full.exit_code, 1);
  EXPECT_TRUE(full.errors.starts_with(
      "deadheat: warning: cannot write the report: No space left on device; the text goes on here\n1. "))
      << full.errors;
  EXPECT_TRUE(contains(full.errors, "deadheat: 1 data race (")) << full.errors;
  EXPECT_TRUE(full.errors.ends_with("deadheat: error: cannot write the report: No space left on device\n"))
      << full.errors;
}

TEST(RunTest, ClosedStandardErrorDoesNotHarmTheProgram) {
  const CommandResult result = Shell().run("deadheat run deadheat_fake_program race options 2>&-");
  EXPECT_EQ(result.exit_code, 66);
  EXPECT_TRUE(contains(result.output, "exitcode=0"));
}

TEST(RunTest, RecordedTraceHasTheSameRaceWithNames) {
  const Shell shell;
  const CommandResult result = shell.run(
      "deadheat run -q --record run.dht deadheat_fake_program trace clean && deadheat trace check run.dht && "
      "deadheat analyze run.dht");
  EXPECT_EQ(result.exit_code, 66);
  EXPECT_TRUE(contains(result.output, "1. write-write race on fake_counter (4 bytes at")) << result.output;
  EXPECT_TRUE(contains(result.output, "(anonymous namespace)::increment()")) << result.output;
}

TEST(RunTest, ForkedChildIsRecordedInAFileOfItsOwn) {
  const Shell shell;
  const CommandResult result = shell.run(
      "deadheat run --record run.dht deadheat_fake_program trace-of-child && deadheat analyze run.dht > /dev/null && "
      "deadheat analyze run.dht.*");
  EXPECT_EQ(result.exit_code, 66) << result.errors;
  EXPECT_TRUE(contains(result.errors, "deadheat: another process was recorded in a file of its own: run.dht."))
      << result.errors;
  EXPECT_TRUE(contains(result.output, "1. write-write race on fake_counter (4 bytes at")) << result.output;
  EXPECT_TRUE(contains(result.output, "in 3 events, 2 threads")) << result.output;
}

TEST(RunTest, RecordingThatCannotBeginIsAnErrorBeforeTheProgramStarts) {
  const CommandResult result = Shell().run("deadheat run --record /dev/full deadheat_fake_program options");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.output, "");
  EXPECT_TRUE(contains(result.errors, "No space left on device")) << result.errors;
}

TEST(RunTest, DiskThatFillsUpEndsTheRecordingAndNotTheProgram) {
  const CommandResult result = Shell().run(
      "ulimit -S -f 8; deadheat run --record run.dht deadheat_fake_program many-events many-events clean exit=4");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(contains(result.errors, "program ended with status 4")) << "it went on: " << result.errors;
  EXPECT_TRUE(contains(result.errors, "deadheat: error: recording to 'run.dht' ended after ")) << result.errors;
}

TEST(RunTest, EveryReportThatCannotBeWrittenIsAFailureAndLeavesNoFile) {
  const Shell shell;
  for (const std::string option : {"--json", "--sarif", "--junit", "--html", "--format json -o"}) {
    const CommandResult full = shell.run("deadheat run --no-store " + option + " /dev/full deadheat_fake_program race");
    EXPECT_EQ(full.exit_code, 1) << option;
    EXPECT_TRUE(contains(full.errors, "deadheat: error: cannot write '/dev/full': No space left on device"))
        << full.errors;
    const CommandResult refused =
        shell.run("deadheat run --no-store " + option + " /nowhere/report deadheat_fake_program options");
    EXPECT_EQ(refused.exit_code, 1) << option;
    EXPECT_EQ(refused.output, "") << "the program does not start";
    // Half a report is none.
    const CommandResult little =
        shell.run("ulimit -f 1; deadheat run --no-store " + option + " little deadheat_fake_program race");
    EXPECT_EQ(little.exit_code, 1) << option;
    EXPECT_FALSE(shell.exists("little")) << option;
  }
  // The other reports are written all the same.
  EXPECT_EQ(
      shell.run("deadheat run --no-store --json all.json --sarif /dev/full --junit all.xml deadheat_fake_program race")
          .exit_code,
      1);
  EXPECT_TRUE(shell.exists("all.json"));
  EXPECT_TRUE(shell.exists("all.xml"));
}

TEST(RunTest, AProgramThatDoesNotStartLeavesNoFiles) {
  const Shell shell;
  shell.write_file("odd", "#!/nowhere/interpreter\n");
  const CommandResult result = shell.run(
      "chmod +x odd; deadheat run --force --no-store --json a.json --html a.html -o a.txt --record a.dht ./odd; "
      "echo $?; ls");
  EXPECT_EQ(result.output, "126\nodd\n") << result.errors;
}

TEST(RunTest, AReportThatIsThereIsKeptUntilThereIsAnother) {
  const Shell shell;
  shell.write_file("old.json", "old");
  EXPECT_EQ(shell.run("deadheat run --no-store --json old.json ./nothing-there").exit_code, 127);
  EXPECT_EQ(shell.read_file("old.json"), "old");
}

TEST(RunTest, NothingCheckedIsNotNoRace) {
  const Shell shell;
  const CommandResult forced = shell.run("deadheat run --force true");
  EXPECT_EQ(forced.exit_code, 3);
  EXPECT_TRUE(contains(forced.errors, "deadheat: nothing was checked; program ended with status 0\n")) << forced.errors;
  EXPECT_EQ(shell.run("deadheat run --force --exitcode 0 true").exit_code, 0);
}

TEST(RunTest, ProgramsThatCannotBeObservedGetAClearLine) {
  const Shell shell;
  const CommandResult plain = shell.run("deadheat run true");
  EXPECT_EQ(plain.exit_code, 2);
  EXPECT_TRUE(contains(plain.errors, "was not built for race detection; build it with 'deadheat c++'"));
  const CommandResult forced = shell.run("deadheat run --force sh -c 'exit 5'");
  EXPECT_EQ(forced.exit_code, 5);
  EXPECT_TRUE(contains(forced.errors, "nothing that ran was built for race detection")) << forced.errors;
}

TEST(RunTest, ScriptsRunAndWhatTheyStartIsObserved) {
  const Shell shell;
  shell.write_file("script", "#!/bin/sh\ndeadheat_fake_program race twice\nexit 3\n");
  const CommandResult result = shell.run("chmod +x script && deadheat run --exitcode=0 ./script");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_TRUE(contains(result.errors, "1 data race (2 occurrences); program ended with status 3")) << result.errors;
}

TEST(RunTest, ProgramsThatCannotBeStartedGetAClearLine) {
  const Shell shell;
  shell.write_file("data", "just text\n");
  shell.write_file("empty-interpreter", "#!/nowhere/sh\n");
  const struct {
    std::string program;
    int exit_code;
    std::string message;
  } cases[] = {
      {"no-such-program", 127, "cannot run 'no-such-program': not found on PATH"},
      {"./no-such-program", 127, "cannot run './no-such-program': No such file or directory"},
      {"data", 127, "cannot run 'data': not found on PATH; for the one here write './data'"},
      {"./data", 126, "cannot run './data': Permission denied (is it executable? try chmod +x)"},
      {"./.", 126, "cannot run './.': it is a directory"},
  };
  for (const auto& [program, exit_code, message] : cases) {
    const CommandResult result = shell.run("deadheat run " + program);
    EXPECT_EQ(result.exit_code, exit_code) << program;
    EXPECT_EQ(result.errors, "deadheat: error: " + message + "\n");
  }
  const CommandResult format = shell.run("chmod +x data empty-interpreter; deadheat run ./data");
  EXPECT_EQ(format.exit_code, 126);
  EXPECT_TRUE(contains(format.errors, "neither an ELF program nor a script with '#!'")) << format.errors;
  const CommandResult interpreter = shell.run("deadheat run ./empty-interpreter");
  EXPECT_EQ(interpreter.exit_code, 126);
  EXPECT_TRUE(contains(interpreter.errors, "the interpreter that it names does not exist")) << interpreter.errors;
}

TEST(RunTest, OptionsBehindTheProgramAreTheProgramsOwn) {
  const CommandResult result = Shell().run("deadheat run --force -q -- sh -c 'echo \"$@\"' sh --stats -- --format x");
  EXPECT_EQ(result.output, "--stats -- --format x\n");
  EXPECT_EQ(Shell().run("deadheat run --frobnicate true").errors,
            "deadheat: error: unknown option '--frobnicate'; see 'deadheat run --help'\n");
  EXPECT_EQ(Shell().run("deadheat run").exit_code, 2);
}

TEST(ReportTest, RawFilesOfADirectlyStartedProgramAreTheSameReport) {
  const Shell shell;
  const CommandResult result = shell.run("FAKE_RAW_FILE=raw deadheat_fake_program race twice && deadheat report raw");
  EXPECT_EQ(result.exit_code, 66);
  EXPECT_TRUE(contains(result.output, "1. write-write race on fake_counter")) << result.output;
  EXPECT_TRUE(contains(result.output, "seen  2 times, first in process ")) << result.output;
  EXPECT_TRUE(contains(result.output, "deadheat: 1 data race (2 occurrences)\n")) << result.output;
  const CommandResult as_json = shell.run("deadheat report raw --format json");
  EXPECT_EQ(as_json.exit_code, 66);
  EXPECT_EQ(json_at(as_json.output, "/summary/occurrences"), "2");
}

TEST(ReportTest, TruncatedFileShowsWhatIsCompleteAndSaysSo) {
  const Shell shell;
  const CommandResult result =
      shell.run("FAKE_RAW_FILE=raw deadheat_fake_program race twice && truncate -s -5 raw && deadheat report raw");
  EXPECT_EQ(result.exit_code, 66);
  EXPECT_TRUE(contains(result.output, "1. write-write race on fake_counter")) << result.output;
  EXPECT_TRUE(contains(result.output, "the file ends in the middle of a packet; the report has what comes before"))
      << result.output;
}

TEST(ReportTest, FilesThatAreNoReportsAreErrors) {
  const Shell shell;
  shell.write_file("text", "hello, this is not a report at all\n");
  const CommandResult result = shell.run("deadheat report text missing");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.errors,
            "deadheat: error: 'text': this is not a raw report of Deadheat\n"
            "deadheat: error: cannot read 'missing': No such file or directory\n");
}

}  // namespace
}  // namespace deadheat
