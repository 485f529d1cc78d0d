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

TEST(FoundRaces, NumberOfOccurrencesIsCheckedOverAllFindings) {
  TestProgram program = program_with({{"race", between({at(3), at(4)})}});
  FoundRace once{at(3), at(4)};
  FoundRace often{at(4), at(3)};
  often.occurrences = 9;
  program.occurrences = Occurrences{10, false};
  EXPECT_EQ(complaints({once, often}, program), 0u);
  EXPECT_EQ(complaints({often}, program), 1u);
  EXPECT_EQ(complaints({once, often, once}, program), 1u);
  program.occurrences = Occurrences{10, true};
  EXPECT_EQ(complaints({once, often, once}, program), 0u);
  EXPECT_EQ(complaints({often}, program), 1u);
}

// A write at line `first` and a read at line `second` on four bytes.
FoundRace recorded(int first, int second, std::uint64_t address, std::uint64_t event_index) {
  FoundRace race{at(first), at(second)};
  race.earlier_kind = "write";
  race.later_kind = "read";
  race.earlier_code = "t.c:" + std::to_string(first);
  race.later_code = "t.c:" + std::to_string(second);
  race.address = address;
  race.size = 4;
  race.event_index = event_index;
  return race;
}

TEST(Disagreements, SamePairsInEitherOrderAgree) {
  FoundRace turned = recorded(4, 3, 0, 0);
  std::swap(turned.earlier_kind, turned.later_kind);
  EXPECT_EQ(disagreements({recorded(3, 4, 0, 0)}, {{recorded(3, 4, 0, 7)}}).size(), 0u);
  EXPECT_EQ(disagreements({turned}, {{recorded(3, 4, 0, 7)}}).size(), 0u);
}

TEST(Disagreements, WhatTheTraceDoesNotHaveIsOne) {
  EXPECT_EQ(disagreements({recorded(3, 4, 0, 0)}, {}).size(), 1u);
  FoundRace other_kind = recorded(3, 4, 0, 0);
  other_kind.later_kind = "write";
  EXPECT_EQ(disagreements({recorded(3, 4, 0, 0), other_kind}, {{recorded(3, 4, 0, 7)}}).size(), 1u);
}

TEST(Disagreements, FirstRaceOfAByteMustBeReported) {
  const std::vector<FoundRace> offline = {recorded(3, 4, 0, 7), recorded(3, 5, 8, 9)};
  EXPECT_EQ(disagreements({recorded(3, 4, 0, 0)}, {offline}).size(), 1u);
}

TEST(Disagreements, LaterRacesOfAByteMayBeMissing) {
  const std::vector<FoundRace> offline = {recorded(3, 4, 0, 7), recorded(3, 5, 0, 9)};
  EXPECT_EQ(disagreements({recorded(3, 4, 0, 0)}, {offline}).size(), 0u);
}

TEST(Disagreements, OneOfThePairsThatTheFirstRacingAccessMakesIsEnough) {
  const std::vector<FoundRace> offline = {recorded(3, 4, 0, 7), recorded(5, 4, 0, 7)};
  EXPECT_EQ(disagreements({recorded(5, 4, 0, 0)}, {offline}).size(), 0u);
  EXPECT_EQ(disagreements({}, {offline}).size(), 1u);
}

TEST(Disagreements, RaceOfAnyProcessCounts) {
  const std::vector<FoundRace> parent = {recorded(3, 4, 0, 7)};
  const std::vector<FoundRace> child = {recorded(3, 4, 0, 7), recorded(3, 5, 8, 9)};
  EXPECT_EQ(disagreements({recorded(3, 4, 0, 0), recorded(3, 5, 0, 0)}, {parent, child}).size(), 0u);
  EXPECT_EQ(disagreements({recorded(3, 4, 0, 0)}, {parent, child}).size(), 1u);
}

TEST(Disagreements, SuppressedRaceMayBeInTheTraceOnly) {
  const std::vector<FoundRace> trace = {recorded(3, 4, 0, 7), recorded(3, 5, 8, 9)};
  EXPECT_EQ(disagreements({recorded(3, 5, 0, 0)}, {trace}, Suppressed::kSomething).size(), 0u);
  EXPECT_EQ(disagreements({recorded(3, 6, 0, 0)}, {trace}, Suppressed::kSomething).size(), 1u);
}

}  // namespace

}  // namespace deadheat::programs
