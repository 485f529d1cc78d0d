// SPDX-License-Identifier: Apache-2.0
// A test tool that accepts too much would hide every later mistake.
#include "found_races.h"

#include <gtest/gtest.h>

namespace deadheat::programs {

namespace {

TestProgram program_with(std::map<std::string, ExpectedRace> races) {
  TestProgram program;
  program.source = "/somewhere/race/t.c";
  program.races = std::move(races);
  return program;
}

SourceLine at(int line) { return {"t.c", line}; }
ExpectedRace between(std::set<SourceLine> lines) { return {std::move(lines), false}; }

std::size_t complaints(const std::vector<FoundRace>& found, const TestProgram& program) {
  return differences(found, program).size();
}

TEST(FoundRaces, PairOfMarkedLinesIsAcceptedInEitherOrder) {
  const TestProgram program = program_with({{"race", between({at(3), at(4)})}});
  EXPECT_EQ(complaints({{at(3), at(4)}}, program), 0u);
  EXPECT_EQ(complaints({{at(4), at(3)}}, program), 0u);
}

TEST(FoundRaces, MissingRaceIsADifference) {
  EXPECT_EQ(complaints({}, program_with({{"race", between({at(3), at(4)})}})), 1u);
}

TEST(FoundRaces, OneOfTwoLinesWithItselfIsNotTheirRace) {
  EXPECT_EQ(complaints({{at(3), at(3)}}, program_with({{"race", between({at(3), at(4)})}})), 2u);
}

TEST(FoundRaces, OnlyLineMayRaceWithItself) {
  EXPECT_EQ(complaints({{at(3), at(3)}}, program_with({{"race", between({at(3)})}})), 0u);
}

TEST(FoundRaces, LinesOfDifferentLabelsAreNotARace) {
  const TestProgram program = program_with({{"A", between({at(3), at(4)})}, {"B", between({at(5), at(6)})}});
  EXPECT_EQ(complaints({{at(3), at(4)}, {at(5), at(6)}}, program), 0u);
  EXPECT_EQ(complaints({{at(3), at(4)}, {at(5), at(6)}, {at(3), at(6)}}, program), 1u);
}

TEST(FoundRaces, AccessOutsideOfTheProgramIsADifference) {
  EXPECT_EQ(complaints({{at(3), std::nullopt}}, program_with({})), 1u);
}

TEST(FoundRaces, RaceWithQuestionMarkMayBeMissing) {
  const TestProgram program = program_with({{"A", {{at(3), at(4)}, true}}});
  EXPECT_EQ(complaints({}, program), 0u);
  EXPECT_EQ(complaints({{at(3), at(4)}}, program), 0u);
}

TEST(FoundRaces, NumberOfFindingsIsChecked) {
  TestProgram program = program_with({{"race", between({at(3), at(4)})}});
  program.findings = 1;
  EXPECT_EQ(complaints({{at(3), at(4)}}, program), 0u);
  EXPECT_EQ(complaints({{at(3), at(4)}, {at(4), at(3)}}, program), 1u);
}

TEST(FoundRaces, JsonNamesTheInnermostLineOfTheProgram) {
  const char* json = R"({"findings": [{
    "earlier": {"stack": [{"file": null, "line": null}, {"file": "/usr/include/vector", "line": 9},
                          {"file": "/x/t.c", "line": 3}, {"file": "/x/t.c", "line": 30}]},
    "later": {"stack": [{"file": "t.c", "line": 4}]}}]})";
  const std::vector<FoundRace> found = races_in_json(json, program_with({}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].earlier, at(3));
  EXPECT_EQ(found[0].later, at(4));
}

TEST(FoundRaces, WhatIsNotAReportIsRefused) {
  EXPECT_THROW((void)races_in_json("", program_with({})), std::runtime_error);
  EXPECT_THROW((void)races_in_json("{}", program_with({})), std::runtime_error);
}

TEST(FoundRaces, TextOfTheCompilersRuntimeIsUnderstood) {
  const char* text =
      "==================\n"
      "WARNING: ThreadSanitizer: data race (pid=1)\n"
      "  Write of size 4 at 0x1 by thread T2:\n"
      "    #0 memset <null> (t+0x2)\n"
      "    #1 second /x/t.c:4:35 (t+0x3) (BuildId: ce)\n"
      "\n"
      "  Previous atomic read of size 4 at 0x1 by thread T1:\n"
      "    #0 first /x/t.c:3 (t+0x4)\n"
      "\n"
      "  Location is heap block allocated by main thread:\n"
      "    #0 main /x/t.c:50 (t+0x5)\n"
      "\n";
  const std::vector<FoundRace> found = races_in_tsan_text(text, program_with({}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].earlier, at(3));
  EXPECT_EQ(found[0].later, at(4));
}

}  // namespace

}  // namespace deadheat::programs
