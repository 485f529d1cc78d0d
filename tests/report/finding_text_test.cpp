// SPDX-License-Identifier: Apache-2.0
#include "report/finding_text.h"

#include <gtest/gtest.h>

#include "report/fingerprint.h"
#include "report/report_fixture.h"

namespace deadheat {
namespace {

using report_fixture::make_analysis;
using report_fixture::make_dictionary;
using report_fixture::make_finding;

TEST(FindingTextTest, FindingShowsBothSidesInFull) {
  const std::string expected =
      "3. write-write race on accounts + 8 (8 bytes at 0x601048)\n"
      "     later  write of 8 bytes by thread 2 (teller), epoch 4@2\n"
      "            deposit          /home/bank/bank.cpp:42\n"
      "            serve_customers  /home/bank/bank.cpp:60\n"
      "            main             /home/bank/main.cpp:7\n"
      "            holds audit_lock, lock 0x7f01 (shared)\n"
      "   earlier  write of 8 bytes by thread 1, epoch 9@1\n"
      "            transfer  /home/bank/bank.cpp:31\n"
      "            holds no lock\n"
      "       why  nothing orders the two accesses; the earlier access holds no lock, the later one audit_lock, "
      "lock 0x7f01 (shared)\n"
      "      seen  5,021 times, first at event 1,203; fingerprint " +
      fingerprint_of(make_finding(), make_dictionary()) + "\n";
  EXPECT_EQ(format_finding(make_finding(), 3, make_dictionary(), ColourMode::kPlain), expected);
}

TEST(FindingTextTest, ColourOnlyAddsEscapes) {
  std::string coloured = format_text_report(make_analysis(), ColourMode::kColour);
  ASSERT_NE(coloured.find('\x1b'), std::string::npos);
  for (std::size_t start; (start = coloured.find('\x1b')) != std::string::npos;) {
    coloured.erase(start, coloured.find('m', start) - start + 1);
  }
  EXPECT_EQ(coloured, format_text_report(make_analysis(), ColourMode::kPlain));
}

TEST(FindingTextTest, UnknownFactsAreLeftOutOrNamedSo) {
  Finding bare;
  bare.kind = RaceKind::kWriteRead;
  bare.earlier.kind = AccessKind::kWrite;
  bare.earlier.thread = ThreadId{1};
  bare.address = 0x10;
  bare.size = 1;
  const std::string text = format_finding(bare, 1, Dictionary{}, ColourMode::kPlain);
  EXPECT_NE(text.find("1. write-read race on 1 byte at 0x10\n"), std::string::npos) << text;
  EXPECT_NE(text.find("   earlier  write by thread 1\n            (unknown function)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("seen  1 time, first at event 0;"), std::string::npos) << text;
}

TEST(FindingTextTest, SummaryCountsRacesOccurrencesEventsAndThreads) {
  Analysis analysis = make_analysis();
  EXPECT_EQ(format_summary(analysis, ColourMode::kPlain),
            "deadheat: 1 data race (5,021 occurrences) in 1,204,113 events, 2 threads\n");
  analysis.findings.push_back(analysis.findings.front());
  EXPECT_EQ(format_summary(analysis, ColourMode::kPlain),
            "deadheat: 2 data races (10,042 occurrences) in 1,204,113 events, 2 threads\n");
  analysis.findings.clear();
  EXPECT_EQ(format_summary(analysis, ColourMode::kPlain), "deadheat: no data races in 1,204,113 events, 2 threads\n");
  analysis.access_count = 0;
  EXPECT_EQ(format_summary(analysis, ColourMode::kPlain),
            "deadheat: nothing was looked at: no access to memory is among its 1,204,113 events\n");
}

TEST(FindingTextTest, CountersLineUp) {
  EXPECT_EQ(format_counters(make_analysis().counters),
            "  read same epoch                17\n"
            "  write exclusive             4,000\n");
  EXPECT_EQ(format_counters({}), "");
}

TEST(FindingTextTest, NamesFromTheTraceCannotControlTheTerminal) {
  Dictionary dictionary = make_dictionary();
  dictionary.threads[report_fixture::kTeller] = "\x1b[2Jgone";
  dictionary.syncs[report_fixture::kAuditLock] = "lock\nforged line";
  dictionary.ranges[report_fixture::kAccounts].name = "acc\rounts";
  const std::string text = format_finding(make_finding(), 1, dictionary, ColourMode::kPlain);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\r'), std::string::npos);
  EXPECT_EQ(text.find("\nforged"), std::string::npos);
}

}  // namespace
}  // namespace deadheat
