// SPDX-License-Identifier: Apache-2.0
#include "report/suppressions.h"

#include <gtest/gtest.h>

#include "report/report_fixture.h"

namespace deadheat {
namespace {

// The bank's race: deposit <- serve_customers <- main against transfer.
LiveFinding bank_race() {
  LiveFinding live;
  live.finding = report_fixture::make_finding();
  live.dictionary = report_fixture::make_dictionary();
  live.memory.kind = MemoryClass::kGlobal;
  live.memory.name = "accounts";
  live.finding.earlier.stack = {SiteId{5}};
  return live;
}

bool hides(const std::string& line) {
  Suppressions suppressions;
  const Status status = suppressions.add(line, "test");
  EXPECT_TRUE(status.ok());
  return suppressions.match(bank_race()) != nullptr;
}

TEST(SuppressionsTest, PatternsMatchAnywhereUnlessTiedToAnEnd) {
  EXPECT_TRUE(matches_pattern("bc", "abcd"));
  EXPECT_FALSE(matches_pattern("^bc", "abcd"));
  EXPECT_TRUE(matches_pattern("^ab", "abcd"));
  EXPECT_FALSE(matches_pattern("bc$", "abcd"));
  EXPECT_TRUE(matches_pattern("cd$", "abcd"));
  EXPECT_TRUE(matches_pattern("^abcd$", "abcd"));
  EXPECT_FALSE(matches_pattern("^abc$", "abcd"));
  EXPECT_TRUE(matches_pattern("a*d", "abcd"));
  EXPECT_TRUE(matches_pattern("^a*d$", "abcd"));
  EXPECT_FALSE(matches_pattern("a*e", "abcd"));
  EXPECT_TRUE(matches_pattern("*", ""));
  EXPECT_TRUE(matches_pattern("^a*b*c$", "a-b-b-c"));
  EXPECT_FALSE(matches_pattern("^ab*ba$", "aba")) << "the pieces must not overlap";
  EXPECT_TRUE(matches_pattern("ab$", "abab"));
  EXPECT_TRUE(matches_pattern("ns::*::f(", "ns::a::b::f(int)"));
}

TEST(SuppressionsTest, RaceMatchesAnyFrameOfEitherStackAndTheVariable) {
  EXPECT_TRUE(hides("race:deposit"));
  EXPECT_TRUE(hides("race:^main$"));
  EXPECT_TRUE(hides("race:transfer"));
  EXPECT_TRUE(hides("race:bank/main.cpp"));
  EXPECT_TRUE(hides("race:libledger.so"));
  EXPECT_TRUE(hides("race:^accounts$"));
  EXPECT_FALSE(hides("race:withdraw"));
}

TEST(SuppressionsTest, RaceTopMatchesTheInnermostFramesOnly) {
  EXPECT_TRUE(hides("race_top:deposit"));
  EXPECT_TRUE(hides("race_top:transfer"));
  EXPECT_FALSE(hides("race_top:serve_customers"));
  EXPECT_FALSE(hides("race_top:accounts"));
}

TEST(SuppressionsTest, CalledFromLibMatchesModulesOnly) {
  EXPECT_TRUE(hides("called_from_lib:libledger"));
  EXPECT_FALSE(hides("called_from_lib:deposit"));
}

TEST(SuppressionsTest, OtherKindsAreAcceptedAndMatchNothing) {
  for (const char* line : {"thread:deposit", "mutex:deposit", "signal:deposit", "deadlock:deposit"}) {
    EXPECT_FALSE(hides(line)) << line;
  }
}

TEST(SuppressionsTest, CommentsBlanksAndWindowsLineEndsAreNoTrouble) {
  Suppressions suppressions;
  ASSERT_TRUE(suppressions.add("# known\r\n\r\n   race:deposit  \r\n\t# more\nrace:x", "test").ok());
  ASSERT_EQ(suppressions.all().size(), 2U);
  EXPECT_EQ(suppressions.all()[0].pattern, "deposit");
}

TEST(SuppressionsTest, BadLinesAreErrorsThatNameFileAndLine) {
  const auto problem = [](const std::string& text) {
    Suppressions suppressions;
    const Status status = suppressions.add(text, "known.supp");
    EXPECT_TRUE(suppressions.all().empty());
    return status.ok() ? "" : status.error().message;
  };
  EXPECT_EQ(problem("race:ok\nfoo"), "known.supp:2: 'foo' has no ':'; a suppression looks like 'race:pattern'");
  EXPECT_EQ(problem("\nleak:foo"),
            "known.supp:2: unknown kind 'leak'; known are race, race_top, called_from_lib, thread, mutex, signal, "
            "deadlock");
  EXPECT_EQ(problem("race:"), "known.supp:1: 'race:' has no pattern after the ':'");
}

TEST(SuppressionsTest, LinesOfAProgramAreForItsOwnRaces) {
  Suppressions suppressions;
  ASSERT_TRUE(suppressions.add_of_program("race:deposit\n", "/opt/bank", 1).ok());
  EXPECT_NE(suppressions.match(bank_race(), "/opt/bank"), nullptr);
  EXPECT_EQ(suppressions.match(bank_race(), "/opt/shop"), nullptr);
  ASSERT_TRUE(suppressions.add("race:deposit", "file").ok());
  EXPECT_NE(suppressions.match(bank_race(), "/opt/shop"), nullptr);
}

TEST(SuppressionsTest, LinesOfAProgramAreTakenOnceHoweverManyProcessesSendThem) {
  Suppressions suppressions;
  for (int process = 0; process < 3; ++process) {
    ASSERT_TRUE(suppressions.add_of_program("race:x\n", "/opt/bank", 1).ok());
    ASSERT_TRUE(suppressions.add_of_program("race:y\n", "/opt/bank", 2).ok());
  }
  EXPECT_EQ(suppressions.all().size(), 2U);
}

TEST(SuppressionsTest, BadLinesOfAProgramAreLeftOutAndTheOthersCount) {
  const auto problem = [](const std::string& text, std::size_t good_lines) {
    Suppressions suppressions;
    const Status status = suppressions.add_of_program(text, "/opt/bank", 10);
    EXPECT_EQ(suppressions.all().size(), good_lines);
    return status.ok() ? "" : status.error().message;
  };
  EXPECT_EQ(problem("race:x\nfoo\nrace:y", 2),
            "line 11: 'foo' has no ':'; a suppression looks like 'race:pattern' (the line is ignored)");
  EXPECT_EQ(problem("race:\nfoo\nbar\nrace:x", 1),
            "line 10: 'race:' has no pattern after the ':' (this line and 2 of the others are ignored)");
}

TEST(SuppressionsTest, MissingFileIsNamed) {
  Suppressions suppressions;
  const Status status = suppressions.add_file("/nowhere/known.supp");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "cannot read suppressions '/nowhere/known.supp': No such file or directory");
}

}  // namespace
}  // namespace deadheat
