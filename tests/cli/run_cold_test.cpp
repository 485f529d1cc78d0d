// SPDX-License-Identifier: Apache-2.0
// `deadheat run --sampler`, with a program that only says what a runtime would say, and
// with a real one.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/shell.h"
#include "support/json_report.h"

namespace deadheat {
namespace {

constexpr char kMissed[] = "races between hot places are missed more often than not; there is no guarantee\n";
constexpr char kCallsUnknown[] = "deadheat: how many calls were sampled is not known: ";

TEST(RunColdTest, TheSamplerReachesTheRuntime) {
  const Shell shell;
  const auto options_of = [&](const std::string& arguments) {
    return shell.run("deadheat run -q " + arguments + " deadheat_fake_program options clean").output;
  };
  EXPECT_EQ(options_of(""), "exitcode=0:halt_on_error=0\n");
  EXPECT_EQ(options_of("--sampler cold"), "exitcode=0:halt_on_error=0:sampler=cold\n");
  EXPECT_EQ(options_of("--sampler none"), "exitcode=0:halt_on_error=0:sampler=none\n");
  EXPECT_EQ(options_of("--sampler pacer --rate 3%"), "exitcode=0:halt_on_error=0:sampler=pacer:rate=30000\n");
  const std::string command = " deadheat_fake_program options clean";
  EXPECT_EQ(shell.run("DEADHEAT_OPTIONS=sampler=cold deadheat run -q --sampler none" + command).output,
            "sampler=cold:exitcode=0:halt_on_error=0:sampler=none\n")
      << "the command line wins";
}

TEST(RunColdTest, WhatDoesNotGoTogetherIsAUsageError) {
  const struct {
    std::string arguments;
    std::string message;
  } cases[] = {
      {"--sampler hot", "see 'deadheat run --help'"},
      {"--sampler pacer", "--sampler pacer needs --rate or --budget; see 'deadheat run --help'"},
      {"--sampler none --rate 3%", "--sampler none checks everything and cannot go with --rate or --budget"},
      {"--sampler cold --rate 3%", "--sampler cold has no rate and cannot go with --rate or --budget"},
      {"--sampler cold --budget 3%", "--sampler cold has no rate and cannot go with --rate or --budget"},
      {"--sampler cold --seed 7", "--seed needs --rate or --budget"},
      {"--sampler cold --record run.dht", "--record keeps every event and cannot go with --sampler cold"},
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

TEST(RunColdTest, TheEnvironmentIsCheckedAsTheCommandLineIs) {
  const Shell shell;
  const CommandResult unknown = shell.run("DEADHEAT_OPTIONS=sampler=hot deadheat run deadheat_fake_program options");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_EQ(unknown.errors, "deadheat: error: sampler=hot in DEADHEAT_OPTIONS is none of none, pacer and cold\n");
  EXPECT_EQ(shell.run("DEADHEAT_OPTIONS=sampler=cold deadheat run --rate 3% deadheat_fake_program options").exit_code,
            2);
  EXPECT_EQ(shell.run("DEADHEAT_OPTIONS=rate=1000 deadheat run --sampler cold deadheat_fake_program options").exit_code,
            2);
}

TEST(RunColdTest, CallsAndWhatIsMissedAreSaidAfterTheSummary) {
  const CommandResult result = Shell().run("deadheat run --sampler cold deadheat_fake_program cold-calls clean");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.errors,
            "deadheat: no data races; program ended with status 0\n"
            "deadheat: cold code was sampled: 4,120 of 1,200,345 calls; which share of the accesses was in them is not "
            "known\n"
            "deadheat: races between hot places are missed more often than not; there is no guarantee\n");
  EXPECT_EQ(Shell().run("deadheat run -q --sampler cold deadheat_fake_program cold-calls clean").errors, "");
}

TEST(RunColdTest, NothingSampledAndNothingKnownAreSaid) {
  const Shell shell;
  const CommandResult refused = shell.run("deadheat run --sampler cold deadheat_fake_program cold-refused clean");
  EXPECT_TRUE(contains(refused.errors,
                       "deadheat: cold code was not sampled, everything was checked: the program was not built with "
                       "calls\n"))
      << refused.errors;
  EXPECT_TRUE(contains(shell.run("deadheat run --sampler cold deadheat_fake_program clean").errors, kCallsUnknown));
  EXPECT_FALSE(contains(shell.run("deadheat run deadheat_fake_program clean").errors, kCallsUnknown));
  const CommandResult fork = shell.run("deadheat run --sampler cold deadheat_fake_program fork cold-calls clean");
  EXPECT_TRUE(contains(fork.errors, "deadheat: how many calls 1 of 2 processes sampled is not known\n")) << fork.errors;
}

TEST(RunColdTest, JsonHasTheCalls) {
  const Shell shell;
  const std::string command = "deadheat run --sampler cold --format json -o ";
  EXPECT_EQ(shell.run(command + "races.json deadheat_fake_program cold-calls race").exit_code, 66);
  const std::string document = shell.read_file("races.json");
  EXPECT_EQ(schema_violations(document), std::vector<std::string>{});
  EXPECT_EQ(json_at(document, "/cold_sampling/calls"), "1200345");
  EXPECT_EQ(json_at(document, "/cold_sampling/sampled_calls"), "4120");
  EXPECT_TRUE(contains(json_at(document, "/cold_sampling/note"), "there is no guarantee"));
  EXPECT_EQ(shell.run(command + "none.json deadheat_fake_program clean").exit_code, 0);
  EXPECT_EQ(json_at(shell.read_file("none.json"), "/cold_sampling"), "null");
}

// Two threads race in touch(), which each calls from a function that is hot by then.
constexpr char kHotProgram[] = R"(
#include <pthread.h>
void touch(int race);
__attribute__((noinline)) void work(int last) { touch(last); }
static void* run(void* argument) {
  for (int i = 0; i <= 5000; i++) work(i == 5000);
  return argument;
}
int main(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, run, 0);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
}
)";
constexpr char kTouch[] = "int shared;\nvoid touch(int race) { if (race) shared++; }\n";

// The raw lines of standard error, after building touch() with `compiler`.
std::string errors_with(const Shell& shell, const std::string& compiler) {
  shell.write_file("hot.c", kHotProgram);
  shell.write_file("touch.c", kTouch);
  const CommandResult built = shell.run("deadheat cc --cc=gcc -O1 -c hot.c && deadheat cc " + compiler +
                                        " -O1 -c touch.c && deadheat cc --cc=gcc hot.o touch.o -o hot -pthread");
  EXPECT_EQ(built.exit_code, 0) << built.errors;
  return shell.run("deadheat run --sampler cold ./hot").errors;
}

TEST(RunColdTest, CallsOfAProgramBuiltWithCallsAreSampled) {
  const std::string errors = errors_with(Shell(), "--cc=gcc");
  EXPECT_TRUE(contains(errors, "deadheat: no data races; program ended with status 0\n")) << errors;
  EXPECT_TRUE(contains(errors, "deadheat: cold code was sampled: 123 of 20,007 calls; ")) << errors;
  EXPECT_TRUE(contains(errors, kMissed)) << errors;
}

TEST(RunColdTest, OneFileBuiltWithThePassIsEnoughToCheckEverything) {
  const Shell shell;
  if (shell.run("test -f " DEADHEAT_BUILD_DIR "/lib/deadheat/libdeadheat_pass.so && command -v clang-19").exit_code !=
      0) {
    GTEST_SKIP() << "no plugin, or no clang 19";
  }
  const std::string errors = errors_with(shell, "--cc=clang-19");
  const std::string notice =
      "--sampler cold needs a program built with calls: deadheat c++ --pass=no; everything is checked\n";
  EXPECT_TRUE(contains(errors, notice)) << errors;
  EXPECT_EQ(errors.find(notice), errors.rfind(notice)) << "once";
  EXPECT_TRUE(contains(errors, "deadheat: 1 data race")) << errors;
  EXPECT_FALSE(contains(errors, kMissed)) << errors;
}

}  // namespace
}  // namespace deadheat
