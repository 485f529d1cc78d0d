// SPDX-License-Identifier: Apache-2.0
// `deadheat tune` with a program that only plays one that samples.
#include <gtest/gtest.h>

#include <string>

#include "cli/shell.h"
#include "support/json_report.h"

namespace deadheat {
namespace {

// Runs the command with $pid standing for a fake program that answers in this manner.
CommandResult with_program(const std::string& manner, const std::string& command) {
  return Shell().run("FAKE_RAW_FILE=raw deadheat_fake_program 'control=" + manner +
                     "' >out & pid=$!\n"
                     "until grep -q ready out 2>/dev/null; do sleep 0.02; done\n" +
                     command + "\nstatus=$?; kill $pid; exit $status");
}

// What follows the process number, which is another one each time.
std::string after_number(const std::string& text) {
  const std::size_t number = text.find_first_of("0123456789");
  const std::size_t end = text.find_first_not_of("0123456789", number);
  return number == std::string::npos ? text : text.substr(0, number) + "N" + text.substr(end);
}

TEST(TuneTest, WithoutAWishTheStateIsShown) {
  const CommandResult result = with_program("state", "deadheat tune --pid $pid");
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(after_number(result.output),
            "process N samples 3% of its work, in periods of 1 ms\n"
            "so far it sampled 2.98% in 298 periods: 48,211,034 accesses; it took 4.76% of the processor time; seed "
            "81234\n");
}

TEST(TuneTest, RateAndBudgetAreChanged) {
  const CommandResult rate = with_program("state", "deadheat tune --pid $pid --rate 10%");
  EXPECT_TRUE(contains(rate.output, " samples 10% of its work, in periods of 1 ms\n")) << rate.output;
  const CommandResult both =
      with_program("state", "deadheat tune --pid $pid --budget 5% --rate 0.2 >/dev/null && deadheat tune --pid $pid");
  EXPECT_TRUE(
      contains(both.output, " samples 20% of its work, in periods of 1 ms, for a budget of 5% of the processor time\n"))
      << both.output << both.errors;
  const CommandResult none = with_program("state", "deadheat tune --pid $pid --budget 0");
  EXPECT_EQ(none.exit_code, 0) << none.errors;
  EXPECT_FALSE(contains(none.output, "budget")) << none.output;
}

TEST(TuneTest, JsonHasTheSamplingOfAReport) {
  const CommandResult result =
      with_program("state", "deadheat tune --pid $pid --rate 10% --format json; echo $pid >&2");
  EXPECT_EQ(json_at(result.output, "/process") + "\n", result.errors);
  EXPECT_EQ(json_at(result.output, "/sampling/rate"), "0.1");
  EXPECT_EQ(json_at(result.output, "/sampling/effective_rate"), "0.0298");
}

TEST(TuneTest, WhatDoesNotWorkGetsAClearLine) {
  const CommandResult gone = Shell().run("sleep 0 & wait $!; deadheat tune --pid $!");
  EXPECT_EQ(gone.exit_code, 1);
  EXPECT_EQ(after_number(gone.errors), "deadheat: error: there is no process N\n");
  const CommandResult other = Shell().run("deadheat tune --pid $$ --rate 3%");
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_EQ(after_number(other.errors),
            "deadheat: error: process N does not sample; start it with 'deadheat run --rate ...'\n");
  const CommandResult silent = with_program("silence", "deadheat tune --pid $pid");
  EXPECT_EQ(silent.exit_code, 1);
  EXPECT_EQ(after_number(silent.errors), "deadheat: error: process N did not answer within 2 s; is it stopped?\n");
  const CommandResult refused = with_program("error: not \x1b[2Jnow", "deadheat tune --pid $pid --rate 3%");
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_EQ(after_number(refused.errors), "deadheat: error: process N refuses 'rate=30000': not \\x1b[2Jnow\n");
}

TEST(TuneTest, AnswersAreNotTrusted) {
  const struct {
    std::string answer;
    std::string problem;
  } cases[] = {
      {"hello", "it has no rate"},
      {"rate=-1", "'-1' is no number"},
      {"rate=1 periods=99999999999999999999", "'99999999999999999999' is no number"},
      {"rate=1000001", "a process samples at a rate above 100%"},
  };
  for (const auto& [answer, problem] : cases) {
    const CommandResult result = with_program(answer, "deadheat tune --pid $pid");
    EXPECT_EQ(result.exit_code, 1) << answer;
    EXPECT_EQ(after_number(result.errors),
              "deadheat: error: the answer of process N cannot be read: " + problem + "\n");
  }
}

TEST(TuneTest, AnotherProcessCannotAnswerForIt) {
  // The socket of the fake program stays open in a child, which answers in its place.
  const CommandResult result = with_program("child", "deadheat tune --pid $pid");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(contains(result.errors, "did not answer within 2 s")) << result.output << result.errors;
}

TEST(TuneTest, ProcessesOfOthersAreNotForUs) {
  const CommandResult result = Shell().run(
      "command -v setpriv >/dev/null && [ $(id -u) = 0 ] || exit 77\n"
      "PATH=$PATH setpriv --reuid=65534 --regid=65534 --clear-groups deadheat tune --pid $$");
  if (result.exit_code == 77) GTEST_SKIP() << "needs root and setpriv to become somebody else";
  if (result.exit_code == 126 || result.exit_code == 127) GTEST_SKIP() << "nobody may not run it: " << result.errors;
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(after_number(result.errors),
            "deadheat: error: process N belongs to somebody else; ask as its user, or as root\n");
}

}  // namespace
}  // namespace deadheat
