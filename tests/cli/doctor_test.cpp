// SPDX-License-Identifier: Apache-2.0
// `deadheat doctor` in surroundings in which we know what does not work.
#include <gtest/gtest.h>

#include <string>

#include "cli/shell.h"
#include "support/json_report.h"

#ifndef __has_feature
#define __has_feature(name) 0
#endif

namespace deadheat {
namespace {

std::string check_number(int number) { return "/checks/" + std::to_string(number); }

// A member of the check of that name, as JSON; empty if there is no such check.
std::string of_check(const CommandResult& result, const std::string& name, const std::string& member) {
  for (int number = 0;; ++number) {
    const std::string found = json_at(result.output, check_number(number) + "/name");
    if (found.empty() || found == "\"" + name + "\"")
      return json_at(result.output, check_number(number) + "/" + member);
  }
}

TEST(DoctorTest, ExitCodeSaysWhetherFullDetectionWorks) {
  const CommandResult result = Shell().run("deadheat doctor --format json");
  const std::string works = json_at(result.output, "/full_detection");
  ASSERT_FALSE(works.empty()) << result.output << result.errors;
  EXPECT_EQ(result.exit_code, works == "true" ? 0 : 1);
  bool missing = false;
  for (int number = 0; !json_at(result.output, check_number(number)).empty(); ++number) {
    const std::string verdict = json_at(result.output, check_number(number) + "/verdict");
    const std::string scope = json_at(result.output, check_number(number) + "/needed_by");
    if (scope == R"("run")" && verdict == R"("missing")") missing = true;
    if (verdict != R"("ok")") {
      EXPECT_NE(json_at(result.output, check_number(number) + "/meaning"), R"("")") << result.output;
    }
  }
  EXPECT_EQ(works, missing ? "false" : "true");
}

TEST(DoctorTest, MissingRuntimeIsNamed) {
  const CommandResult result = Shell().run("DEADHEAT_LIB_DIR=/nowhere deadheat doctor --color never");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(contains(result.output, "\n  missing  runtime ")) << result.output;
  EXPECT_TRUE(contains(result.output, "/nowhere/libdeadheat_rt.a")) << result.output;
  EXPECT_TRUE(contains(result.output, "Full detection does not work")) << result.output;
}

TEST(DoctorTest, LimitedAddressSpaceIsFoundWithItsRemedy) {
#if __has_feature(address_sanitizer)
  GTEST_SKIP() << "AddressSanitizer itself needs the address space";
#endif
  const CommandResult result =
      Shell().run("ulimit -v 8000000; DEADHEAT_LIB_DIR=/nowhere deadheat doctor --format json");
  EXPECT_EQ(of_check(result, "shadow memory", "verdict"), R"("missing")") << result.output << result.errors;
  EXPECT_TRUE(contains(of_check(result, "shadow memory", "fix"), "ulimit -v unlimited")) << result.output;
}

TEST(DoctorTest, UnlimitedStackIsAWarning) {
  const CommandResult result =
      Shell().run("ulimit -s unlimited || exit 99; DEADHEAT_LIB_DIR=/nowhere deadheat doctor --format json");
  if (result.exit_code == 99) GTEST_SKIP() << "the stack limit cannot be raised here";
  EXPECT_EQ(of_check(result, "stack limit", "verdict"), R"("warning")") << result.output << result.errors;
}

TEST(DoctorTest, AbsentCompilersAreReportedAndNotFatalToTheDoctor) {
  const CommandResult result = Shell().run("path=$(command -v deadheat); PATH=/nowhere $path doctor --format json");
  EXPECT_EQ(result.exit_code, 1);
  for (const std::string name : {"clang++-19", "clang++", "g++"}) {
    EXPECT_EQ(of_check(result, name, "found"), R"("not found")") << result.output << result.errors;
  }
  EXPECT_EQ(of_check(result, "race found in a trial", "verdict"), R"("missing")") << result.output;
}

TEST(DoctorTest, ColourOnlyWhenAsked) {
  const Shell shell;
  EXPECT_FALSE(contains(shell.run("DEADHEAT_LIB_DIR=/nowhere deadheat doctor").output, "\x1b["));
  EXPECT_TRUE(contains(shell.run("DEADHEAT_LIB_DIR=/nowhere deadheat doctor --color always").output, "\x1b["));
}

TEST(DoctorTest, LeavesNothingBehind) {
  const CommandResult result =
      Shell().run("mkdir scratch; TMPDIR=$PWD/scratch deadheat doctor >/dev/null; ls -A scratch");
  EXPECT_EQ(result.output, "");
}

}  // namespace
}  // namespace deadheat
