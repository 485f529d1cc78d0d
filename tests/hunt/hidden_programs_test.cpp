// SPDX-License-Identifier: Apache-2.0
// `deadheat hunt` with real programs and the real runtime: what it is to find it finds, and
// programs without races and deadlocks it leaves as they are. script/bench hunt has all of
// the programs and more runs.
//
// Hunts depend on the machine, so the demands are such that chance fails them once in
// thousands of times.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/programs/hidden_races.h"
#include "cli/shell.h"

namespace deadheat {
namespace {

using Json = nlohmann::json;

const std::string kFolder = std::string(DEADHEAT_SOURCE_DIR) + "/bench/programs/";

// Builds programs of a folder into the directory of the shell, two at once.
void build(const Shell& shell, const std::string& folder, const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += name + "\n";
  shell.write_file("programs", list);
  const CommandResult built = shell.run("xargs -P2 -I{} deadheat c++ -std=c++20 -g -O1 -pthread '" + kFolder + folder +
                                        "/{}.cpp' -o {} < programs");
  ASSERT_EQ(built.exit_code, 0) << built.errors;
}

struct Hunt {
  CommandResult command;
  Json report;
};

// Ends the test with an exception if the hunt leaves no document.
Hunt hunt(const Shell& shell, const std::string& arguments) {
  Hunt result;
  result.command = shell.run("rm -f hunt.json; deadheat hunt -q --format json -o hunt.json " + arguments);
  EXPECT_TRUE(result.command.exit_code == 0 || result.command.exit_code == 66)
      << arguments << ": " << result.command.exit_code << ": " << result.command.errors;
  result.report = Json::parse(shell.read_file("hunt.json"));
  return result;
}

TEST(HiddenRacesTest, DrfinderFindsNineOfTenWithinTenRuns) {
  const std::vector<std::string> names = {"write_write",        "read_write",   "two_edges",
                                          "heap_locks",         "deep_calls",   "rwlock_writer_late",
                                          "scoped_lock_of_two", "virtual_call", "logging_lock"};
  const Shell shell;
  build(shell, "hidden", names);
  std::size_t all = 0;
  std::size_t found = 0;
  std::string missed;
  for (const std::string& name : names) {
    const auto marks = bench::HiddenRaces::read(kFolder + "hidden/" + name + ".cpp");
    ASSERT_TRUE(marks) << name;
    const bench::HuntVerdict verdict =
        bench::judge_hunt(*marks, hunt(shell, "--strategy drfinder --runs 10 ./" + name).report);
    for (const std::string& what : verdict.unexpected) ADD_FAILURE() << name << ": " << what;
    for (std::size_t at = 0; at < verdict.sightings.size(); ++at) {
      ++all;
      if (verdict.sightings[at].first_run > 0) {
        ++found;
      } else {
        missed += " " + marks->races()[at].name;
      }
    }
  }
  EXPECT_GE(found * 10, all * 9) << "missed:" << missed;
}

std::vector<std::string> programs_of(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder + folder)) {
    names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string own_name(const testing::TestParamInfo<std::string>& test) { return test.param; }

class CleanProgramTest : public testing::TestWithParam<std::string> {};

TEST_P(CleanProgramTest, HasNoFindingAndTheSameOutputUnderEveryStrategy) {
  constexpr int kRuns = 4;
  const Shell shell;
  build(shell, "hidden_clean", {GetParam()});
  const CommandResult alone = shell.run("./" + GetParam());
  ASSERT_EQ(alone.exit_code, 0);
  ASSERT_NE(alone.output, "");
  std::string expected;
  for (int run = 0; run < kRuns; ++run) expected += alone.output;
  for (const std::string strategy : {"drfinder", "pct", "contest"}) {
    const Hunt result =
        hunt(shell, "--strategy " + strategy + " --runs " + std::to_string(kRuns) + " --show-output ./" + GetParam());
    EXPECT_EQ(result.command.exit_code, 0) << strategy;
    EXPECT_EQ(result.report.at("races"), Json::array()) << strategy;
    EXPECT_EQ(result.report.at("findings"), Json::array()) << strategy;
    EXPECT_EQ(result.command.output, expected) << strategy;
  }
}

INSTANTIATE_TEST_SUITE_P(All, CleanProgramTest, testing::ValuesIn(programs_of("hidden_clean")), own_name);

class DeadlockProgramTest : public testing::TestWithParam<std::string> {};

// One run in ten has it, more or less.
TEST_P(DeadlockProgramTest, IsReportedAsADeadlockWithItsCycle) {
  const Shell shell;
  build(shell, "hidden_deadlock", {GetParam()});
  const Json report = hunt(shell, "--strategy drfinder --runs 80 ./" + GetParam()).report;
  EXPECT_EQ(report.at("races"), Json::array());
  ASSERT_EQ(report.at("findings").size(), 1U) << report.at("findings");
  const Json& finding = report.at("findings").at(0);
  EXPECT_EQ(finding.at("kind"), "deadlock");
  ASSERT_EQ(finding.at("cycle").size(), 2U);
  for (const Json& waiter : finding.at("cycle")) EXPECT_FALSE(waiter.at("stack").empty());
}

INSTANTIATE_TEST_SUITE_P(All, DeadlockProgramTest, testing::ValuesIn(programs_of("hidden_deadlock")), own_name);

}  // namespace
}  // namespace deadheat
