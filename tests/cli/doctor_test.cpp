// SPDX-License-Identifier: Apache-2.0
// `deadheat doctor` in surroundings in which we know what does not work.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "cli/shell.h"

#ifndef __has_feature
#define __has_feature(name) 0
#endif

namespace deadheat {
namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// The checks by name.
nlohmann::json checks_of(const CommandResult& result) {
  const auto document = nlohmann::json::parse(result.output, nullptr, false);
  EXPECT_FALSE(document.is_discarded()) << result.output << result.errors;
  nlohmann::json checks;
  if (document.is_discarded()) return checks;
  for (const auto& check : document["checks"]) checks[check["name"].get<std::string>()] = check;
  return checks;
}

TEST(DoctorTest, ExitCodeSaysWhetherFullDetectionWorks) {
  const CommandResult result = Shell().run("deadheat doctor --format json");
  const auto document = nlohmann::json::parse(result.output, nullptr, false);
  ASSERT_FALSE(document.is_discarded()) << result.output << result.errors;
  EXPECT_EQ(result.exit_code, document["full_detection"].get<bool>() ? 0 : 1);
  bool missing = false;
  for (const auto& check : document["checks"]) {
    if (check["needed_by"] == "run" && check["verdict"] == "missing") missing = true;
    if (check["verdict"] != "ok") {
      EXPECT_NE(check["meaning"], "") << check;
    }
  }
  EXPECT_EQ(document["full_detection"].get<bool>(), !missing);
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
  const auto checks =
      checks_of(Shell().run("ulimit -v 8000000; DEADHEAT_LIB_DIR=/nowhere deadheat doctor --format json"));
  ASSERT_TRUE(checks.contains("shadow memory"));
  EXPECT_EQ(checks["shadow memory"]["verdict"], "missing");
  EXPECT_TRUE(contains(checks["shadow memory"]["fix"], "ulimit -v unlimited")) << checks["shadow memory"];
}

TEST(DoctorTest, UnlimitedStackIsAWarning) {
  const CommandResult result =
      Shell().run("ulimit -s unlimited || exit 99; DEADHEAT_LIB_DIR=/nowhere deadheat doctor --format json");
  if (result.exit_code == 99) GTEST_SKIP() << "the stack limit cannot be raised here";
  const auto checks = checks_of(result);
  EXPECT_EQ(checks["stack limit"]["verdict"], "warning");
}

TEST(DoctorTest, AbsentCompilersAreReportedAndNotFatalToTheDoctor) {
  const CommandResult result = Shell().run("path=$(command -v deadheat); PATH=/nowhere $path doctor --format json");
  EXPECT_EQ(result.exit_code, 1);
  const auto checks = checks_of(result);
  for (const char* name : {"clang++-19", "clang++", "g++"}) EXPECT_EQ(checks[name]["found"], "not found");
  EXPECT_EQ(checks["race found in a trial"]["verdict"], "missing");
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
