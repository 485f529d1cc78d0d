// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "cli/shell.h"

namespace deadheat {
namespace {

TEST(UsageTest, VersionIsPrinted) {
  const CommandResult result = Shell().run("deadheat --version");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.output.rfind("deadheat ", 0), 0U) << result.output;
  EXPECT_EQ(result.errors, "");
}

TEST(UsageTest, EveryCommandHasHelpWithExamples) {
  const Shell shell;
  for (const std::string command : {"", "run", "hunt", "report", "serve", "tune", "analyze", "trace", "trace check",
                                    "trace stats", "trace convert", "trace generate"}) {
    const CommandResult result = shell.run("deadheat " + command + " --help");
    EXPECT_EQ(result.exit_code, 0) << command;
    EXPECT_EQ(result.errors, "") << command;
    EXPECT_TRUE(contains(result.output, "Usage: deadheat" + (command.empty() ? "" : " " + command))) << result.output;
    EXPECT_TRUE(contains(result.output, "Examples:\n  deadheat ")) << result.output;
    if (command != "trace") {
      EXPECT_TRUE(contains(result.output, "Exit codes: 0 ")) << result.output;
    }
  }
}

TEST(UsageTest, NoArgumentsShowTheHelp) {
  const CommandResult result = Shell().run("deadheat");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_TRUE(contains(result.output, "Examples:")) << result.output;
}

TEST(UsageTest, MistypedCommandGetsASuggestion) {
  const CommandResult result = Shell().run("deadheat anlyze x; deadheat trace cehck x; deadheat frobnicate");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(
      result.errors,
      "deadheat: error: unknown command 'anlyze' (did you mean 'analyze'?); 'deadheat --help' lists the commands\n"
      "deadheat: error: unknown command 'cehck' (did you mean 'check'?); "
      "'deadheat trace --help' lists the commands\n"
      "deadheat: error: unknown command 'frobnicate'; 'deadheat --help' lists the commands\n");
}

TEST(UsageTest, WrongOptionsPointToTheHelpOfTheirCommand) {
  const Shell shell;
  const struct {
    std::string arguments;
    std::string hint;
  } cases[] = {
      {"analyze", "see 'deadheat analyze --help'"},
      {"analyze x --frobnicate", "see 'deadheat analyze --help'"},
      {"analyze x --detector magic", "magic not in {fasttrack,slimstate,djit,reference,pacer,literace}"},
      {"analyze x --format xml", "xml not in {text,json}"},
      {"tune", "--pid is required; see 'deadheat tune --help'"},
      {"tune --pid 0", "see 'deadheat tune --help'"},
      {"tune --pid x", "see 'deadheat tune --help'"},
      {"tune --pid 1 --rate 101%", "'101%' is no rate: write 3% or 0.03, from 0 to 1"},
      {"tune --pid 1 --budget 5p", "'5p' is no budget: write 3% or 0.03, from 0 to 1"},
      {"trace", "see 'deadheat trace --help'"},
      {"trace check", "see 'deadheat trace check --help'"},
      {"trace convert only-one", "see 'deadheat trace convert --help'"},
      {"trace generate x.dht --threads 0", "see 'deadheat trace generate --help'"},
      {"trace generate x.dht --race-density 2", "see 'deadheat trace generate --help'"},
  };
  for (const auto& [arguments, hint] : cases) {
    const CommandResult result = shell.run("deadheat " + arguments);
    EXPECT_EQ(result.exit_code, 2) << arguments;
    EXPECT_EQ(result.errors.rfind("deadheat: error: ", 0), 0U) << arguments << ": " << result.errors;
    EXPECT_TRUE(contains(result.errors, hint)) << arguments << ": " << result.errors;
    EXPECT_EQ(result.errors.find('\n'), result.errors.size() - 1) << result.errors;
  }
}

TEST(UsageTest, ArgumentsCannotControlTheTerminal) {
  const CommandResult result = Shell().run("deadheat $'\\e[2Jwipe'");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_FALSE(contains(result.errors, "\x1b")) << result.errors;
}

}  // namespace
}  // namespace deadheat
