// SPDX-License-Identifier: Apache-2.0
#include "report/live_report.h"

#include <gtest/gtest.h>

#include "report/live_fixture.h"
#include "support/own_modules.h"

DEADHEAT_PLAIN_GLOBAL int live_report_test_counter;

namespace deadheat {
namespace {

using live_fixture::begin_process;
using live_fixture::feed;
using live_fixture::kBase;
using live_fixture::kProcess;
using live_fixture::race;

constexpr std::uint32_t kChild = kProcess + 1;

TEST(LiveReportTest, NewRaceIsNewsOnceAndRepetitionsAreCounted) {
  LiveReport report;
  begin_process(report, kProcess);
  const auto news = feed(report, race(1, 0x10, 0x20).bytes(kProcess));
  ASSERT_NE(news.race, nullptr);
  EXPECT_EQ(news.race->program, "/opt/bank");
  EXPECT_EQ(feed(report, race(2, 0x10, 0x20).bytes(kProcess)).race, nullptr) << "the same race with another number";
  EXPECT_NE(feed(report, race(3, 0x10, 0x30).bytes(kProcess)).race, nullptr);
  EXPECT_EQ(report.occurrences(), 3U) << "each was seen at least once";
  feed(report, packets::summary(kProcess, {{1, 10}, {2, 5}, {3, 2}}, {}, packets::Final::kNo));
  feed(report, packets::summary(kProcess, {{1, 11}, {2, 5}, {3, 2}}));
  ASSERT_EQ(report.races().size(), 2U);
  EXPECT_EQ(report.races()[0].occurrences, 16U);
  EXPECT_EQ(report.races()[1].occurrences, 2U);
  EXPECT_EQ(report.occurrences(), 18U);
}

// What it counted after the race reaches the race, and is replaced by later counts.
TEST(LiveReportTest, CountsOfTheMemorySayWhichLockIsMissing) {
  LiveReport report;
  begin_process(report, kProcess);
  raw_report::Lock lock;
  lock.address = 0x7f0000002000;
  lock.serial = 5;
  packets::FindingParts parts = race(1, 0x10, 0x20);
  parts.finding.later.locks = parts.lock_list({lock});
  parts.finding.counted = 3;
  feed(report, parts.bytes(kProcess));
  raw_report::Counts amounts;
  amounts.number = 3;
  amounts.accesses = 64;
  feed(report, packets::counts(kProcess, amounts, {{lock, 64}}));
  amounts.accesses = 1000;
  raw_report::Lock of_many = lock;
  of_many.address = 0;
  of_many.serial = 6;
  feed(report, packets::counts(kProcess, amounts, {{lock, 990}, {of_many, 1000}}));
  amounts.number = 4;
  feed(report, packets::counts(kProcess, amounts, {}));
  const LiveFinding& live = report.races().front().live;
  ASSERT_TRUE(live.context.has_value());
  EXPECT_EQ(
      describe_context(*live.context, live.finding, live.dictionary),
      "990 of 1,000 accesses to this memory after the race was seen hold lock 0x7f0000002000; the earlier one here "
      "does not");
  EXPECT_EQ(live.locks.size(), 1U) << "the same lock, and one of many is none";
}

TEST(LiveReportTest, AFlagThatIsTooWeakIsNamed) {
  LiveReport report;
  begin_process(report, kProcess);
  packets::FindingParts parts = race(1, 0x10, 0x20);
  parts.flag = raw_report::Flag{0x7f0000003000, kBase + 0x30, kBase + 0x40, 0, 2};
  feed(report, parts.bytes(kProcess));
  const LiveFinding& live = report.races().front().live;
  ASSERT_TRUE(live.context.has_value());
  EXPECT_EQ(
      describe_context(*live.context, live.finding, live.dictionary),
      "thread 1 (main) writes 0x7f0000003000 after its access and thread 2 reads it before its own, but a write of "
      "memory_order_relaxed and a read of memory_order_acquire order nothing");
}

TEST(LiveReportTest, SameRaceInSeveralProcessesIsOne) {
  LiveReport report;
  begin_process(report, kProcess);
  begin_process(report, kChild, kProcess);
  feed(report, race(1, 0x10, 0x20).bytes(kProcess));
  packets::FindingParts swapped = race(1, 0x20, 0x10);
  std::swap(swapped.code[1], swapped.code[3]);  // the callers with their sides
  EXPECT_EQ(feed(report, swapped.bytes(kChild)).race, nullptr) << "in whatever order the two came";
  feed(report, packets::summary(kProcess, {{1, 10}}));
  feed(report, packets::summary(kChild, {{1, 7}}));
  EXPECT_EQ(report.race_count(), 1U);
  EXPECT_EQ(report.occurrences(), 17U);
}

TEST(LiveReportTest, ForkedProcessRepeatsARaceOfItsParentByItsNumber) {
  LiveReport report;
  begin_process(report, kProcess);
  feed(report, race(1, 0x10, 0x20).bytes(kProcess));
  feed(report, packets::hello(kChild, "/opt/bank", kProcess));
  feed(report, packets::summary(kChild, {{1, 3}}));
  EXPECT_EQ(report.occurrences(), 4U);
  const auto news = feed(report, race(2, 0x40, 0x50).bytes(kChild));
  ASSERT_NE(news.race, nullptr);
  EXPECT_EQ(news.race->live.dictionary.sites[news.race->live.finding.later.site].module, "/opt/bank")
      << "it shares its parent's modules";
}

TEST(LiveReportTest, ExecStartsTheNumbersAnew) {
  LiveReport report;
  begin_process(report, kProcess);
  feed(report, race(1, 0x10, 0x20).bytes(kProcess));
  begin_process(report, kProcess);
  EXPECT_NE(feed(report, race(1, 0x40, 0x50).bytes(kProcess)).race, nullptr);
  feed(report, packets::summary(kProcess, {{1, 100}}));
  EXPECT_EQ(report.races()[0].occurrences, 1U);
  EXPECT_EQ(report.races()[1].occurrences, 100U);
}

TEST(LiveReportTest, SuppressedRacesAreCountedApart) {
  Suppressions suppressions;
  ASSERT_TRUE(suppressions.add("race:^nothing$\ncalled_from_lib:/opt/bank", "test").ok());
  LiveReport report(std::move(suppressions));
  begin_process(report, kProcess);
  EXPECT_EQ(feed(report, race(1, 0x10, 0x20).bytes(kProcess)).race, nullptr);
  feed(report, race(2, 0x10, 0x20).bytes(kProcess));
  EXPECT_EQ(report.race_count(), 0U);
  EXPECT_EQ(report.suppressed_count(), 1U);
  EXPECT_EQ(report.occurrences(), 0U);
  EXPECT_EQ(report.suppressions().all()[0].matches, 0U);
  EXPECT_EQ(report.suppressions().all()[1].matches, 1U);
}

TEST(LiveReportTest, CountersOfTheLatestSummariesAreAddedUp) {
  using packets::Loss;
  LiveReport report;
  begin_process(report, kProcess);
  begin_process(report, kChild, kProcess);
  feed(report, packets::summary(kProcess, {}, {{"accesses", 5}, {"dropped", 1, Loss::kYes}}, packets::Final::kNo));
  EXPECT_FALSE(report.is_complete());
  feed(report, packets::summary(kProcess, {}, {{"accesses", 50}, {"dropped", 2, Loss::kYes}}));
  EXPECT_FALSE(report.is_complete()) << "the child has not finished";
  feed(report, packets::summary(kChild, {}, {{"accesses", 7}}));
  EXPECT_TRUE(report.is_complete());
  const std::vector<LiveCounter> counters = report.counters();
  ASSERT_EQ(counters.size(), 2U);
  EXPECT_EQ(counters[0].value, 57U);
  EXPECT_EQ(counters[1].value, 2U);
  EXPECT_TRUE(counters[1].is_loss);
}

TEST(LiveReportTest, TheLastWordOfEachProcessOnSamplingIsAddedUp) {
  LiveReport report;
  begin_process(report, kProcess);
  EXPECT_FALSE(report.sampling().has_value());
  raw_report::Sampling amounts = packets::usual_sampling();
  amounts.work_ns = 1;
  feed(report, packets::sampling(kProcess, amounts));
  feed(report, packets::sampling(kProcess, packets::usual_sampling()));
  begin_process(report, kChild, kProcess);
  EXPECT_EQ(report.sampling()->silent_processes, 1U);
  feed(report, packets::sampling(kChild, packets::usual_sampling()));
  const auto sum = report.sampling();
  EXPECT_EQ(sum->processes, 2U);
  EXPECT_EQ(sum->silent_processes, 0U);
  EXPECT_EQ(sum->totals.rate, 30'000U);
  EXPECT_EQ(sum->totals.periods, 596U);
  EXPECT_EQ(sum->totals.work_ns, 20'000'000'000U);
  begin_process(report, kChild, kProcess);
  feed(report, packets::sampling(kChild, packets::usual_sampling()));
  EXPECT_EQ(report.sampling()->totals.periods, 894U) << "after exec it is another program";
}

TEST(LiveReportTest, NoticesArePassedOn) {
  LiveReport report;
  EXPECT_EQ(feed(report, packets::notice(kProcess, "limit reached")).notice, "limit reached");
}

TEST(LiveReportTest, ProgramsOwnSuppressionsHideItsRaces) {
  LiveReport report;
  begin_process(report, kProcess);
  EXPECT_EQ(feed(report, packets::suppressions(kProcess, "race:bank\n")).notice, std::nullopt);
  EXPECT_EQ(feed(report, race(1, 0x100, 0x200).bytes(kProcess)).race, nullptr);
  EXPECT_EQ(report.suppressed_count(), 1U);
  feed(report, packets::hello(kProcess + 1, "/opt/shop"));
  feed(report, packets::modules(kProcess + 1, {{live_fixture::kBase, live_fixture::kBase + 0x10000, live_fixture::kBase,
                                                "/opt/bank"}}));
  EXPECT_NE(feed(report, race(1, 0x300, 0x400).bytes(kProcess + 1)).race, nullptr) << "another program's race";
}

TEST(LiveReportTest, SuppressionsOfAProgramThatCannotBeReadAreSaidOnce) {
  LiveReport report;
  begin_process(report, kProcess);
  EXPECT_EQ(feed(report, packets::suppressions(kProcess, "race:bank\nnonsense\n")).notice,
            "__tsan_default_suppressions: line 2: 'nonsense' has no ':'; a suppression looks like 'race:pattern' "
            "(the line is ignored)");
  EXPECT_EQ(feed(report, race(1, 0x100, 0x200).bytes(kProcess)).race, nullptr) << "the good line counts";
  begin_process(report, kProcess + 1);
  EXPECT_EQ(feed(report, packets::suppressions(kProcess + 1, "race:bank\nnonsense\n")).notice, std::nullopt);
}

__attribute__((noinline)) std::uint64_t writer_code() {
  // The call must not be the last thing done, or this function is left before it.
  volatile std::uint64_t code = code_here();
  return code;
}

// A race of this very program, on one of its globals, under one of its locks.
TEST(LiveReportTest, CodeGlobalsAndLocksOfARealProgramHaveNames) {
  LiveReport report;
  feed(report, packets::hello(kProcess, own_path()));
  feed(report, packets::modules(kProcess, own_modules()));
  const auto address = reinterpret_cast<std::uint64_t>(&live_report_test_counter);
  packets::FindingParts parts(1, address);
  parts.finding.later.stack = parts.stack({writer_code()});
  raw_report::Lock lock;
  lock.address = address;
  lock.serial = 1;
  raw_report::Lock next_there = lock;
  next_there.serial = 2;
  parts.finding.later.locks = parts.lock_list({lock});
  parts.finding.earlier.locks = parts.lock_list({next_there});
  const auto news = feed(report, parts.bytes(kProcess));
  ASSERT_NE(news.race, nullptr);
  const LiveFinding& live = news.race->live;
  const Site& site = live.dictionary.sites[live.finding.later.site];
  EXPECT_EQ(site.function, "deadheat::(anonymous namespace)::writer_code()");
  EXPECT_NE(site.line, 0U);
  EXPECT_EQ(live.memory.kind, MemoryClass::kGlobal);
  EXPECT_EQ(live.memory.name, "live_report_test_counter");
  EXPECT_EQ(live.memory.begin, address);
  EXPECT_EQ(live.dictionary.ranges.at(address).size, sizeof(int));
  EXPECT_EQ(live.dictionary.syncs.at(live.finding.later.locks[0].lock), "live_report_test_counter");
  EXPECT_NE(live.finding.later.locks[0].lock, live.finding.earlier.locks[0].lock)
      << "two locks at one address, one after the other";
}

}  // namespace
}  // namespace deadheat
