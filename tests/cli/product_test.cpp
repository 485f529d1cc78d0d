// SPDX-License-Identifier: Apache-2.0
// What holds for all commands together, for the examples, and for a project that used
// ThreadSanitizer until now.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "cli/shell.h"

namespace deadheat {
namespace {

// All commands, as the completion for fish lists them: 'deadheat', 'deadheat run', ...
std::vector<std::string> all_command_names(const Shell& shell) {
  const std::string list =
      shell.run("deadheat completion fish | sed -n 's/.*contains -- \"$command $word\" //p'").output;
  std::vector<std::string> names;
  std::istringstream words(list);
  for (std::string name; std::getline(words, name, '\'');) {
    if (name.rfind("deadheat", 0) == 0) names.push_back(name);
  }
  return names;
}

TEST(ProductTest, EveryCommandHasHelpWithExamplesAManualPageAndCompletion) {
  const Shell shell;
  const std::vector<std::string> names = all_command_names(shell);
  ASSERT_GE(names.size(), 15U);
  ASSERT_EQ(shell.run("deadheat man --directory pages && deadheat completion bash > completion").exit_code, 0);
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    const CommandResult help = shell.run(name + " --help");
    EXPECT_EQ(help.exit_code, 0);
    EXPECT_EQ(help.errors, "");
    EXPECT_TRUE(contains(help.output, "Examples:\n  deadheat ")) << help.output;
    EXPECT_TRUE(contains(help.output, "Usage: " + name)) << help.output;
    std::string page = name;
    for (char& letter : page) letter = letter == ' ' ? '-' : letter;
    const std::string text = shell.read_file("pages/" + page + ".1");
    for (const char* part : {".SH NAME", ".SH SYNOPSIS", ".SH EXAMPLES", "deadheat"}) {
      EXPECT_TRUE(contains(text, part)) << part;
    }
    const auto space = name.rfind(' ');
    if (space == std::string::npos) continue;
    const std::string above = name.substr(0, space);
    const std::string word = name.substr(space + 1);
    const std::string offered =
        shell
            .run(fmt::format("source ./completion; COMP_WORDS=({} {}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); "
                             "_deadheat; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
                             above, word.substr(0, 1)))
            .output;
    EXPECT_TRUE(contains("\n" + offered, "\n" + word + "\n")) << offered;
  }
}

TEST(ProductTest, CompletionOffersOptionsAndTheirWords) {
  const Shell shell;
  const auto complete = [&shell](const std::string& words) {
    return shell
        .run(fmt::format("source <(deadheat completion bash); COMP_WORDS=({}); "
                         "COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _deadheat; echo \"${{COMPREPLY[@]}}\"",
                         words))
        .output;
  };
  EXPECT_EQ(complete("deadheat run --supp"), "--suppressions\n");
  EXPECT_EQ(complete("deadheat run --format j"), "json\n");
  EXPECT_EQ(complete("deadheat trace ch"), "check\n");
}

TEST(ProductTest, ManualPagesAreWhatManReads) {
  const Shell shell;
  if (shell.run("command -v groff").exit_code != 0) GTEST_SKIP() << "no groff to read the pages with";
  const CommandResult result = shell.run(
      "deadheat man --directory p && for page in p/*; do groff -man -ww -Tutf8 $page >out || exit 1; done; "
      "grep -c deadheat out");
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(result.errors, "");
}

TEST(ProductTest, VersionTellsHowItWasBuilt) {
  const std::string text = Shell().run("deadheat --version").output;
  for (const char* part : {"\ncommit ", "\ncompiler ", "\nLLVM ", "\nfeatures "}) {
    EXPECT_TRUE(contains(text, part)) << text;
  }
}

#ifdef DEADHEAT_HAS_RUNTIME

struct Example {
  const char* folder;
  const char* program;
  const char* command;
};

class ExamplesTest : public testing::TestWithParam<Example> {};

TEST_P(ExamplesTest, HasTheRaceOfItsReportAndTheFixHasNone) {
  const Shell shell;
  const Example& example = GetParam();
  const std::string folder = fmt::format("{}/examples/{}", DEADHEAT_SOURCE_DIR, example.folder);
  const auto run = [&](const std::string& program) {
    return shell.run(fmt::format("deadheat c++ -g -O1 -pthread {0}/{1}.cpp -o {1} && deadheat {2} ./{1} 2>&1", folder,
                                 program, example.command));
  };
  const CommandResult racing = run(example.program);
  EXPECT_EQ(racing.exit_code, 66) << racing.output;
  // The page shows this very race, or says that either access may come first.
  const auto number = racing.output.find("1. ");
  ASSERT_NE(number, std::string::npos) << racing.output;
  const auto begin = number + 3;
  const std::string kind = racing.output.substr(begin, racing.output.find(" on ", begin) - begin);
  EXPECT_EQ(shell.run(fmt::format("grep -qF '{}' {}/README.md", kind, folder)).exit_code, 0) << kind;
  const CommandResult fixed = run("fixed");
  EXPECT_EQ(fixed.exit_code, 0) << fixed.output;
}

INSTANTIATE_TEST_SUITE_P(All, ExamplesTest,
                         testing::Values(Example{"forgotten-lock", "bank", "run"},
                                         Example{"relaxed-flag", "settings", "run"},
                                         Example{"freed-frames", "frames", "run"},
                                         Example{"off-by-one", "pixels", "run"},
                                         Example{"hidden-order", "hidden", "hunt"}),
                         [](const auto& example) { return std::string(example.param.program); });

constexpr char kShopProject[] = R"(cmake_minimum_required(VERSION 3.16)
project(shop CXX)
set(CMAKE_CXX_FLAGS "${CMAKE_CXX_FLAGS} -fsanitize=thread -g -O1")
set(CMAKE_EXE_LINKER_FLAGS "${CMAKE_EXE_LINKER_FLAGS} -fsanitize=thread")
find_package(Threads REQUIRED)
add_executable(shop shop.cpp)
target_link_libraries(shop Threads::Threads)
enable_testing()
add_test(NAME known COMMAND shop known)
add_test(NAME new COMMAND shop new)
set_tests_properties(known new PROPERTIES ENVIRONMENT
  "TSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tsan.supp:halt_on_error=1:second_deadlock_stack=1")
)";

// Goes on after the new race for so long that it does not end by itself before it is ended.
constexpr char kShop[] = R"(#include <chrono>
#include <cstring>
#include <thread>
int visits = 0;
int stock = 0;
void old_counter() { ++visits; }
void sell() { --stock; }
int main(int, char** arguments) {
  void (*work)() = std::strcmp(arguments[1], "known") == 0 ? old_counter : sell;
  std::thread other(work);
  work();
  other.join();
  if (work == sell) std::this_thread::sleep_for(std::chrono::seconds(60));
}
)";

TEST(FromTsanTest, ProjectWithOptionsAndSuppressionsNeedsOneLine) {
  const Shell shell;
  shell.write_file("CMakeLists.txt", kShopProject);
  shell.write_file("shop.cpp", kShop);
  shell.write_file("tsan.supp", "# known for years\nrace:^old_counter\n");
  const CommandResult result = shell.run("cmake -B build --toolchain " DEADHEAT_SOURCE_DIR
                                         "/cmake/toolchain.cmake -DDeadheat_COMMAND=" DEADHEAT_BINARY_DIR
                                         "/deadheat && cmake --build build && cd build && ctest --output-on-failure");
  EXPECT_NE(result.exit_code, 0);
  EXPECT_TRUE(contains(result.output, "Test #1: known ............................   Passed")) << result.output;
  EXPECT_TRUE(contains(result.output, "Test #2: new ..............................***Failed")) << result.output;
  EXPECT_TRUE(contains(result.output, "race on stock")) << result.output;
  EXPECT_TRUE(contains(result.output, "ended at the first race")) << result.output;
}

#endif

}  // namespace
}  // namespace deadheat
