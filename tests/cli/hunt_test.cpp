// SPDX-License-Identifier: Apache-2.0
// `deadheat hunt` with a program that only plays one; "run=3 race" lets it have a race in
// the third run only.
#include <gtest/gtest.h>

#include <string>

#include "cli/shell.h"
#include "support/json_report.h"

namespace deadheat {
namespace {

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++count;
  return count;
}

TEST(HuntTest, RaceIsShownInFullWhenItIsNewAndCountedAfterwards) {
  const CommandResult result = Shell().run("deadheat hunt --runs 4 -- deadheat_fake_program race run=3 other-race");
  EXPECT_EQ(result.exit_code, 66);
  EXPECT_EQ(result.output, "");
  EXPECT_EQ(count_of(result.errors, " race on fake_counter"), 2U) << result.errors;
  EXPECT_TRUE(contains(result.errors, "1. write-write race on fake_counter (4 bytes at 0x")) << result.errors;
  EXPECT_TRUE(contains(result.errors, " s  races 1 (1 new)\n")) << result.errors;
  EXPECT_TRUE(contains(result.errors, " s  races 2 (1 new)\n")) << result.errors;
  EXPECT_TRUE(contains(result.errors, "run 4/4  drfinder  seed ")) << result.errors;
  EXPECT_TRUE(contains(result.errors, "), in 4 of 4 runs; deadheat hunt --again 1\n")) << result.errors;
  EXPECT_TRUE(contains(result.errors, "), in 1 of 4 runs; deadheat hunt --again 3\n")) << result.errors;
  EXPECT_TRUE(contains(result.errors, "deadheat: 2 data races in 4 runs; seed ")) << result.errors;
}

TEST(HuntTest, TableAndCurveSayWhoFoundWhatAndWhen) {
  const CommandResult result =
      Shell().run("deadheat hunt --runs 4 deadheat_fake_program schedule run=1 race run=3 other-race");
  EXPECT_TRUE(contains(result.errors, "  races 0  suspended 14, thrashing 3\n")) << result.errors;
  EXPECT_TRUE(contains(result.errors, "\nnative         1          1           1 ")) << result.errors;
  EXPECT_TRUE(contains(result.errors, "\ndrfinder       3          1           1 ")) << result.errors;
  EXPECT_TRUE(contains(result.errors, " s      21.4%\n")) << result.errors;
  EXPECT_TRUE(contains(result.errors,
                       "races after each run\n"
                       "  2 |  ##\n"
                       "  1 |####\n"
                       "  0 +----\n"
                       "     1  4\n"))
      << result.errors;
}

TEST(HuntTest, NothingFoundIsSuccess) {
  const CommandResult result = Shell().run("deadheat hunt --runs 2 deadheat_fake_program clean");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(contains(result.errors, "deadheat: no data races in 2 runs; seed ")) << result.errors;
}

TEST(HuntTest, RuntimeThatSchedulesNothingIsSaidInsteadOfComparingStrategies) {
  const Shell shell;
  const std::string words = "deadheat: warning: no run was scheduled: ";
  EXPECT_TRUE(contains(shell.run("deadheat hunt --runs 2 deadheat_fake_program clean").errors, words));
  EXPECT_FALSE(contains(shell.run("deadheat hunt --runs 2 deadheat_fake_program schedule").errors, words));
  EXPECT_FALSE(
      contains(shell.run("deadheat hunt --runs 2 --strategy native deadheat_fake_program clean").errors, words));
}

TEST(HuntTest, ExitCodeForFindingsCanBeChosen) {
  const Shell shell;
  EXPECT_EQ(shell.run("deadheat hunt --runs 1 --exitcode 3 deadheat_fake_program race").exit_code, 3);
  EXPECT_EQ(shell.run("deadheat hunt --runs 1 --exitcode 0 deadheat_fake_program race").exit_code, 0);
}

TEST(HuntTest, SuppressedRacesAreCountedOnly) {
  const Shell shell;
  shell.write_file("known.supp", "race:^fake_counter$\n");
  const CommandResult result = shell.run("deadheat hunt --runs 3 --suppressions known.supp deadheat_fake_program race");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(contains(result.errors, "deadheat: no data races, 1 suppressed in 3 runs; ")) << result.errors;
}

TEST(HuntTest, EndsWhenRunsBringNothingNewAnyMore) {
  const CommandResult result = Shell().run("deadheat hunt --until-quiet 3 deadheat_fake_program race run=3 other-race");
  EXPECT_EQ(result.exit_code, 66);
  EXPECT_TRUE(contains(result.errors, "deadheat: 2 data races in 6 runs; ")) << result.errors;
}

TEST(HuntTest, FirstRunLearnsAndLaterOnesUseTheFileOfTheRunBefore) {
  const Shell shell;
  const CommandResult result =
      shell.run("deadheat hunt --runs 3 --depth 5 --show-output deadheat_fake_program options");
  const std::string file = shell.path(".deadheat/hunt/run-");
  EXPECT_TRUE(contains(result.output, ":schedule=native:")) << result.output;
  EXPECT_EQ(count_of(result.output, ":schedule_out=\"/proc/"), 3U) << result.output;
  EXPECT_EQ(count_of(result.output, ":schedule_in="), 2U) << result.output;
  EXPECT_TRUE(contains(result.output, ":schedule_in=\"" + file + "1.schedule\":schedule_depth=5\n")) << result.output;
  EXPECT_TRUE(contains(result.output, ":schedule_in=\"" + file + "2.schedule\":schedule_depth=5\n")) << result.output;
  EXPECT_EQ(count_of(result.output, ":schedule=drfinder:"), 2U) << result.output;
}

TEST(HuntTest, SameSeedMakesTheSameDecisions) {
  const Shell shell;
  const std::string command =
      "deadheat hunt --runs 4 --seed 7 --show-output deadheat_fake_program options | "
      "grep -o 'schedule_seed=[0-9]*'";
  const CommandResult one = shell.run(command);
  EXPECT_EQ(count_of(one.output, "schedule_seed="), 4U) << one.output;
  EXPECT_EQ(one.output, shell.run(command).output);
  EXPECT_EQ(shell
                .run("deadheat hunt --runs 4 --seed 7 --show-output deadheat_fake_program options | "
                     "grep -o 'schedule_seed=[0-9]*' | sort -u | wc -l")
                .output,
            "4\n");
}

TEST(HuntTest, PortfolioTakesStrategiesInTurn) {
  const CommandResult result = Shell().run("deadheat hunt --runs 4 --strategy portfolio deadheat_fake_program clean");
  for (const char* strategy : {"native", "drfinder", "pct", "contest"}) {
    EXPECT_TRUE(contains(result.errors, std::string("\n") + strategy)) << result.errors;
  }
}

TEST(HuntTest, ProgramThatNeverEndsIsEndedAtTheTimeLimitWhichIsNoFinding) {
  const CommandResult result =
      Shell().run("deadheat hunt --runs 2 --time-limit 50ms deadheat_fake_program race wait-for-term");
  EXPECT_EQ(result.exit_code, 66);
  EXPECT_EQ(count_of(result.errors, "  time limit\n"), 2U) << result.errors;
  EXPECT_TRUE(contains(result.errors, "deadheat: 1 data race in 2 runs; ")) << result.errors;
}

TEST(HuntTest, ProgramThatIgnoresTheTimeLimitIsKilled) {
  const CommandResult result =
      Shell().run("deadheat hunt --runs 1 --time-limit 10ms deadheat_fake_program ignore-term wait-for-term");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(contains(result.errors, "  time limit\n")) << result.errors;
}

TEST(HuntTest, CrashIsAFindingThatIsShownOncePerSignal) {
  const CommandResult result =
      Shell().run("deadheat hunt --runs 4 deadheat_fake_program options run=2 crash run=3 crash run=4 abort");
  EXPECT_EQ(result.exit_code, 66);
  EXPECT_EQ(count_of(result.errors, "\ncrash: signal 11 (Segmentation fault)\n      said  "), 1U) << result.errors;
  EXPECT_EQ(count_of(result.errors, "\ncrash: signal 6 (Aborted)\n"), 1U) << result.errors;
  EXPECT_TRUE(contains(result.errors, "); deadheat hunt --again 2\n")) << result.errors;
  EXPECT_TRUE(contains(result.errors, "), in 2 of 4 runs; deadheat hunt --again 2\n")) << result.errors;
  EXPECT_TRUE(contains(result.errors, "deadheat: no data races, 2 other findings in 4 runs; ")) << result.errors;
}

TEST(HuntTest, DeadlockIsShownWithItsCycleAndDoesNotLastUntilTheTimeLimit) {
  const CommandResult result = Shell().run("deadheat hunt --runs 2 deadheat_fake_program deadlock");
  EXPECT_EQ(result.exit_code, 66);
  EXPECT_EQ(count_of(result.errors, "deadlock of 2 threads\n     cycle  thread 2 waits for fake_counter (0x"), 1U)
      << result.errors;
  EXPECT_TRUE(contains(result.errors, "), which thread 3 holds\n            (anonymous namespace)::increment()  "))
      << result.errors;
  EXPECT_TRUE(contains(result.errors, "thread 3 waits for lock 0x7000, which thread 2 holds\n")) << result.errors;
  EXPECT_TRUE(contains(result.errors, "), in 2 of 2 runs; deadheat hunt --again 1\n")) << result.errors;
}

TEST(HuntTest, StatusThatTheFirstRunDidNotHaveIsMentioned) {
  const CommandResult result = Shell().run("deadheat hunt --runs 3 deadheat_fake_program clean run=2 exit=4");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(contains(result.errors, "deadheat: the program ended with status 4 in 1 run, first in run 2; not so in "))
      << result.errors;
  EXPECT_FALSE(contains(Shell().run("deadheat hunt --runs 2 deadheat_fake_program exit=4").errors, "not so in"));
}

TEST(HuntTest, SeveralRunsAtOnceFindTheSame) {
  const CommandResult result =
      Shell().run("deadheat hunt --runs 9 --jobs 3 deadheat_fake_program race run=5 other-race run=7 crash");
  EXPECT_EQ(result.exit_code, 66);
  EXPECT_EQ(count_of(result.errors, " race on fake_counter"), 2U) << result.errors;
  EXPECT_TRUE(contains(result.errors, "deadheat: 2 data races, 1 other finding in 9 runs; ")) << result.errors;
}

// Each waits until as many as --jobs are there.
TEST(HuntTest, RunsAreReallyAtOnce) {
  const Shell shell;
  shell.write_file("meet.sh",
                   "#!/bin/bash\nmkdir -p here\ntouch here/$$\n"
                   "[ -e first ] || { touch first; rm here/*; exit 0; }\n"
                   "until [ $(ls here | wc -l) -ge 3 ]; do sleep 0.01; done\n");
  const CommandResult result =
      shell.run("chmod +x meet.sh; deadheat hunt --runs 4 --jobs 3 --time-limit 20s ./meet.sh");
  EXPECT_EQ(result.exit_code, 3) << "a script has nothing to be checked";
  EXPECT_FALSE(contains(result.errors, "time limit")) << result.errors;
}

TEST(HuntTest, FilesOfRunsWithoutNewsAreRemovedExceptTheNewest) {
  const Shell shell;
  const CommandResult result = shell.run(
      "deadheat hunt -q --runs 6 deadheat_fake_program options race run=4 other-race >/dev/null 2>&1; "
      "ls .deadheat/hunt | paste -sd' '");
  EXPECT_EQ(result.output, "hunt.json run-1.out run-1.schedule run-4.out run-4.schedule run-6.out run-6.schedule\n");
  EXPECT_TRUE(contains(shell.read_file(".deadheat/hunt/run-4.out"), "schedule=drfinder"));
  const std::string state = shell.read_file(".deadheat/hunt/hunt.json");
  EXPECT_EQ(json_at(state, "/hunt/command/0"), "\"deadheat_fake_program\"");
  EXPECT_EQ(json_at(state, "/runs/3/new_races"), "1");
  EXPECT_EQ(json_at(state, "/runs/5/end"), "\"exited\"");
}

TEST(HuntTest, RunCanBeRepeated) {
  const Shell shell;
  ASSERT_EQ(shell.run("deadheat hunt --runs 4 deadheat_fake_program schedule options run=3 other-race").exit_code, 66);
  // The program takes the number of the run from its file, which is another one here.
  const CommandResult result = shell.run(
      "mkdir elsewhere; cd elsewhere; "
      "deadheat hunt --directory ../.deadheat/hunt --again 3");
  EXPECT_EQ(result.exit_code, 66);
  EXPECT_TRUE(contains(result.output, ":schedule=again:")) << result.output;
  EXPECT_TRUE(contains(result.output, "schedule_in=\"" + shell.path(".deadheat/hunt/run-3.schedule\"")))
      << result.output;
  EXPECT_TRUE(contains(result.errors, "1. write-read race on fake_counter")) << result.errors;
  EXPECT_TRUE(contains(result.errors,
                       "; program ended with status 0\n"
                       "deadheat: run 3 again: 2 acquisitions diverged from that run; 1 of its 1 race "
                       "seen again\n"))
      << result.errors;
  EXPECT_FALSE(shell.exists(".deadheat/hunt/again-3.schedule"));
}

TEST(HuntTest, RepetitionOfWhatIsNotThereIsRefused) {
  const Shell shell;
  const CommandResult nothing = shell.run("deadheat hunt --again 1");
  EXPECT_EQ(nothing.exit_code, 1);
  EXPECT_TRUE(contains(nothing.errors, "hunt.json': No such file or directory; was there a hunt")) << nothing.errors;
  ASSERT_EQ(shell.run("deadheat hunt --runs 3 deadheat_fake_program clean").exit_code, 0);
  const CommandResult missing = shell.run("deadheat hunt --again 9");
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_TRUE(contains(missing.errors, "has no run 9; it had 3 runs\n")) << missing.errors;
  EXPECT_TRUE(contains(shell.run("deadheat hunt --again 1").errors, "run 1 cannot be repeated: '"));
  EXPECT_EQ(shell.run("deadheat hunt --again 3 deadheat_fake_program").exit_code, 2);
}

TEST(HuntTest, DamagedFilesAreSaid) {
  const Shell shell;
  ASSERT_EQ(shell.run("deadheat hunt --runs 1 deadheat_fake_program race").exit_code, 66);
  const CommandResult file = shell.run("truncate -s 100 .deadheat/hunt/run-1.schedule; deadheat hunt --again 1");
  EXPECT_EQ(file.exit_code, 1);
  EXPECT_TRUE(contains(file.errors, "run-1.schedule': it ends after 100 bytes")) << file.errors;
  const CommandResult state = shell.run("echo '{' > .deadheat/hunt/hunt.json; deadheat hunt --again 1");
  EXPECT_EQ(state.exit_code, 1);
  EXPECT_TRUE(contains(state.errors, "hunt.json' is damaged: ")) << state.errors;
  EXPECT_EQ(count_of(state.errors, "\n"), 1U) << state.errors;
}

TEST(HuntTest, ForeignDirectoryIsRefusedAndLeftAsItIs) {
  const Shell shell;
  const CommandResult result = shell.run(
      "mkdir work; echo mine > work/run-1.out; deadheat hunt --directory work deadheat_fake_program clean; "
      "code=$?; cat work/run-1.out; exit $code");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.output, "mine\n");
  EXPECT_TRUE(
      contains(result.errors, "/work' has other files and no 'hunt.json', so it is not the directory of a hunt"))
      << result.errors;
}

TEST(HuntTest, NextHuntReplacesTheFilesOfTheHuntBeforeAndNothingElse) {
  const Shell shell;
  const CommandResult result = shell.run(
      "deadheat hunt --directory 'a b' --runs 3 -q deadheat_fake_program race 2>/dev/null; echo mine > 'a b/notes'; "
      "deadheat hunt --directory 'a b' --runs 2 -q deadheat_fake_program clean; ls 'a b' | paste -sd' '");
  EXPECT_EQ(result.output, "hunt.json notes run-2.out run-2.schedule\n");
}

TEST(HuntTest, DirectoryThatCannotBeMadeIsSaid) {
  const CommandResult result = Shell().run("deadheat hunt --directory /dev/null/x deadheat_fake_program clean");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.errors, "deadheat: error: cannot make the directory '/dev/null/x': Not a directory\n");
}

TEST(HuntTest, DiskThatIsFullEndsTheHuntWithALine) {
  const CommandResult result = Shell().run("ulimit -f 4; deadheat hunt --runs 3 deadheat_fake_program clean");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(contains(result.errors, "deadheat: error: cannot write run file '")) << result.errors;
  EXPECT_TRUE(contains(result.errors, "File too large\n")) << result.errors;
}

TEST(HuntTest, MissingSuppressionsAreAFailure) {
  const CommandResult result = Shell().run("deadheat hunt --suppressions nowhere deadheat_fake_program");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(contains(result.errors, "cannot read suppressions 'nowhere'")) << result.errors;
}

TEST(HuntTest, BadOptionsAreUsageErrors) {
  const Shell shell;
  const struct {
    std::string arguments;
    std::string message;
  } cases[] = {
      {"", "which program? see 'deadheat hunt --help'"},
      {"--frobnicate x", "unknown option '--frobnicate'; see 'deadheat hunt --help'"},
      {"--strategy magic deadheat_fake_program", "magic not in {drfinder,pct,contest,native,portfolio}"},
      {"--runs 0 deadheat_fake_program", "see 'deadheat hunt --help'"},
      {"--time-limit 5 deadheat_fake_program", "'5' is no time limit: write 500ms, 10s, 5min or 2h"},
      {"--show-output --format json deadheat_fake_program", "--show-output would mix"},
      {"true", "was not built for race detection"},
  };
  for (const auto& [arguments, message] : cases) {
    const CommandResult result = shell.run("deadheat hunt " + arguments);
    EXPECT_EQ(result.exit_code, 2) << arguments;
    EXPECT_TRUE(contains(result.errors, message)) << result.errors;
    EXPECT_FALSE(shell.exists(".deadheat")) << arguments;
  }
  EXPECT_EQ(shell.run("deadheat hunt ./missing").exit_code, 127);
}

TEST(HuntTest, JsonHasRunsRacesAndFindings) {
  const Shell shell;
  const CommandResult result = shell.run(
      "deadheat hunt --format json --runs 3 --seed 5 deadheat_fake_program schedule race run=2 other-race run=3 "
      "deadlock");
  EXPECT_EQ(result.exit_code, 66);
  const std::string& document = result.output;
  EXPECT_EQ(json_at(document, "/summary"), R"({"findings":1,"races":2,"silent_runs":0,"suppressed":0})");
  EXPECT_EQ(json_at(document, "/hunt/seed"), "\"5\"");
  EXPECT_EQ(json_at(document, "/runs/1/counters/suspensions"), "14");
  EXPECT_EQ(json_at(document, "/runs/2/end"), "\"deadlock\"");
  EXPECT_EQ(json_at(document, "/races/0/variable/name"), "\"fake_counter\"");
  EXPECT_EQ(json_at(document, "/races/0/runs_seen"), "3");
  EXPECT_EQ(json_at(document, "/races/0/strategies"), R"(["native","drfinder"])");
  EXPECT_EQ(json_at(document, "/races/1/first_run"), "2");
  EXPECT_EQ(json_at(document, "/findings/0/kind"), "\"deadlock\"");
  EXPECT_EQ(json_at(document, "/findings/0/cycle/0/waits_for/name"), "\"fake_counter\"");
  EXPECT_EQ(json_at(document, "/findings/0/cycle/1/thread"), "3");
  EXPECT_FALSE(contains(result.errors, " race on fake_counter")) << result.errors;
}

TEST(HuntTest, ReportGoesToTheFile) {
  const Shell shell;
  const CommandResult result = shell.run("deadheat hunt --runs 2 -o report.txt deadheat_fake_program race");
  EXPECT_FALSE(contains(result.errors, "1. write-write race on fake_counter")) << result.errors;
  EXPECT_TRUE(contains(result.errors, "run 2/2  drfinder")) << result.errors;
  EXPECT_TRUE(contains(shell.read_file("report.txt"), "1. write-write race on fake_counter"));
  EXPECT_TRUE(contains(shell.read_file("report.txt"), "deadheat: 1 data race in 2 runs; "));
}

TEST(HuntTest, InterruptionEndsTheRunAndShowsWhatWasFound) {
  const CommandResult result = Shell().run(
      "deadheat hunt --show-output deadheat_fake_program race wait-for-term >out & pid=$!\n"
      "until grep -q ready out 2>/dev/null; do sleep 0.02; done; kill -TERM $pid; wait $pid");
  EXPECT_EQ(result.exit_code, 66);
  EXPECT_TRUE(contains(result.errors, "races 1 (1 new)  interrupted\n")) << result.errors;
  EXPECT_TRUE(contains(result.errors, "deadheat: 1 data race in 1 run; ")) << result.errors;
  const CommandResult clean = Shell().run(
      "deadheat hunt --show-output deadheat_fake_program wait-for-term >out & pid=$!\n"
      "until grep -q ready out 2>/dev/null; do sleep 0.02; done; kill -TERM $pid; wait $pid");
  EXPECT_EQ(clean.exit_code, 143);
}

TEST(HuntTest, ProcessesThatAProgramLeavesBehindEndWithItsRun) {
  const Shell shell;
  shell.write_file("leave.sh", "#!/bin/bash\nsleep 600 & echo $! > left\n");
  const CommandResult result = shell.run(
      "chmod +x leave.sh; deadheat hunt --runs 1 ./leave.sh; "
      "while grep -qs '^State:[[:space:]]*[^Z]' /proc/$(cat left)/status; do sleep 0.01; done");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(contains(result.errors, "nothing was checked in 1 run")) << result.errors;
}

}  // namespace
}  // namespace deadheat
