// SPDX-License-Identifier: Apache-2.0
#include "report/live_text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "report/finding_json.h"
#include "report/live_fixture.h"
#include "support/json_report.h"

namespace deadheat {
namespace {

using live_fixture::begin_process;
using live_fixture::feed;
using live_fixture::kBase;
using live_fixture::kProcess;
using live_fixture::race;

// A race in a heap block, with every fact that a packet can have.
packets::FindingParts heap_race() {
  packets::FindingParts parts = race(1, 0x10, 0x20);
  parts.finding.later.flags = raw_report::kAccessVolatile;
  parts.finding.earlier.flags = raw_report::kAccessLocksUnknown;
  packets::set_text(parts.threads[1].name, "teller");
  parts.threads[1].created = parts.stack({kBase + 0x100});
  parts.threads[1].flags = raw_report::kThreadFinished;
  raw_report::Lock lock;
  lock.address = 0x7f0000002000;
  lock.created = parts.stack({kBase + 0x200});
  lock.acquired = parts.stack({kBase + 0x300});
  parts.finding.later.locks = parts.lock_list({lock});
  raw_report::Memory& memory = parts.finding.memory;
  memory.kind = raw_report::MemoryKind::kHeap;
  memory.begin = parts.finding.address - 16;
  memory.size = 64;
  memory.thread = 0;
  memory.allocated = parts.stack({kBase + 0x400});
  return parts;
}

std::string text_of(const packets::FindingParts& parts) {
  LiveReport report;
  begin_process(report, kProcess);
  const auto news = feed(report, parts.bytes(kProcess));
  return news.race == nullptr ? "" : format_live_race(*news.race, 1, ColourMode::kPlain);
}

TEST(LiveTextTest, ALoopThroughAnArraySaysWhatItSwept) {
  packets::FindingParts parts = heap_race();
  parts.finding.memory.begin = parts.finding.address - 4000;
  parts.finding.memory.size = 400'000;
  parts.finding.swept_begin = parts.finding.address - 4000;
  parts.finding.swept_step = 8;
  parts.finding.swept_count = 50'000;
  const std::string text = text_of(parts);
  EXPECT_NE(text.find("4,000 bytes (element 1,000) into a heap block of 400,000 bytes"), std::string::npos) << text;
  EXPECT_NE(
      text.find("sweep  the later access is one of 50,000 from there in a row, 8 bytes apart, from 0x7f0000000060"),
      std::string::npos)
      << text;
}

TEST(LiveTextTest, RaceShowsMemoryThreadsAndLocks) {
  LiveReport report;
  begin_process(report, kProcess);
  const auto news = feed(report, heap_race().bytes(kProcess));
  ASSERT_NE(news.race, nullptr);
  EXPECT_EQ(format_live_race(*news.race, 3, ColourMode::kPlain),
            "3. write-write race on 4 bytes at 0x7f0000001000, 16 bytes into a heap block of 64 bytes\n"
            "     later  volatile write of 4 bytes by thread 2 (teller), epoch 4@2\n"
            "            bank+0x1f\n"
            "            bank+0x7ff\n"
            "            holds lock 0x7f0000002000 (since bank+0x2ff)\n"
            "   earlier  write of 4 bytes by thread 1 (main), epoch 9@1\n"
            "            bank+0xf\n"
            "            bank+0x8ff\n"
            "            which locks it held is not known any more\n"
            "    memory  heap block of 64 bytes at 0x7f0000000ff0, allocated by thread 1 (main)\n"
            "            bank+0x3ff\n"
            "    thread  thread 2 (teller), finished, created by thread 1 (main)\n"
            "            bank+0xff\n"
            "      lock  lock 0x7f0000002000, created or first used\n"
            "            bank+0x1ff\n"
            "       why  nothing orders the two accesses; which locks the earlier access held is not known any more\n"
            "      seen  in process 4711 (bank); fingerprint " +
                news.race->fingerprint + "\n");
}

TEST(LiveTextTest, EveryKindOfMemoryHasItsWords) {
  const struct {
    raw_report::MemoryKind kind;
    std::string title;
    std::string block;
  } cases[] = {
      {raw_report::MemoryKind::kFreedHeap, "16 bytes into a freed heap block of 64 bytes\n",
       "    memory  freed heap block of 64 bytes at 0x7f0000000ff0, allocated by thread 1 (main)\n"
       "            bank+0x3ff\n"
       "     freed  by thread 2 (teller)\n"
       "            bank+0x4ff\n"},
      {raw_report::MemoryKind::kStack, "0x7f0000001000 on the stack of thread 1 (main)\n",
       "    memory  stack of thread 1 (main)\n"},
      {raw_report::MemoryKind::kTls, "in the thread-local storage of thread 1 (main)\n",
       "    memory  thread-local storage of thread 1 (main)\n"},
      {raw_report::MemoryKind::kMapped, "16 bytes into a mapping of 64 bytes\n",
       "    memory  mapping of 64 bytes at 0x7f0000000ff0, mapped by thread 1 (main)\n"},
  };
  for (const auto& [kind, title, block] : cases) {
    packets::FindingParts parts = heap_race();
    parts.finding.memory.kind = kind;
    parts.finding.memory.freed_by = 1;
    parts.finding.memory.freed = parts.stack({kBase + 0x500});
    const std::string text = text_of(parts);
    EXPECT_NE(text.find(title), std::string::npos) << text;
    EXPECT_NE(text.find(block), std::string::npos) << text;
  }
}

TEST(LiveTextTest, NothingKnownIsStillAReport) {
  packets::FindingParts bare(1, 0x10);
  bare.threads[1].parent = 0;
  const std::string text = text_of(bare);
  EXPECT_NE(text.find("1. write-write race on 4 bytes at 0x10\n"), std::string::npos) << text;
  EXPECT_NE(text.find("thread 2, whose creation was not seen"), std::string::npos) << text;
  EXPECT_NE(text.find("(unknown function)"), std::string::npos) << text;
}

TEST(LiveTextTest, NamesOfTheProgramCannotControlTheTerminal) {
  packets::FindingParts parts = heap_race();
  packets::set_text(parts.threads[1].name, "\x1b[2Jgone");
  EXPECT_EQ(text_of(parts).find('\x1b'), std::string::npos);
}

TEST(LiveTextTest, TotalsCountRacesOccurrencesAndSuppressed) {
  LiveReport report;
  EXPECT_EQ(describe_totals(report, ColourMode::kPlain), "no data races");
  begin_process(report, kProcess);
  feed(report, race(1, 0x10, 0x20).bytes(kProcess));
  feed(report, race(2, 0x10, 0x30).bytes(kProcess));
  EXPECT_EQ(describe_totals(report, ColourMode::kPlain), "2 data races (at least 2 occurrences)")
      << "the process has not said its last word";
  feed(report, packets::summary(kProcess, {{1, 16}, {2, 1}}));
  EXPECT_EQ(describe_totals(report, ColourMode::kPlain), "2 data races (17 occurrences)");
}

TEST(LiveTextTest, LossesAreLinesAndOtherCountersAreStatistics) {
  LiveReport report;
  begin_process(report, kProcess);
  feed(report,
       packets::summary(
           kProcess, {},
           {{"accesses", 1234}, {"stacks dropped", 3, packets::Loss::kYes}, {"races lost", 0, packets::Loss::kYes}}));
  EXPECT_EQ(describe_losses(report), (std::vector<std::string>{"lost: stacks dropped (3)"}));
  EXPECT_EQ(format_live_stats(report),
            "  accesses                   1,234\n"
            "  stacks dropped                 3\n"
            "  races lost                     0\n");
}

TEST(LiveJsonTest, ReportSatisfiesTheSchemaAndCarriesEveryFact) {
  Suppressions suppressions;
  ASSERT_TRUE(suppressions.add("race:nothing", "test").ok());
  LiveReport report(std::move(suppressions));
  begin_process(report, kProcess);
  feed(report, heap_race().bytes(kProcess));
  feed(report, packets::summary(kProcess, {{1, 17}}, {{"accesses", 5}, {"dropped", 2, packets::Loss::kYes}}));
  const std::string document = format_live_json_report(report, {"0.1.0", "/opt/bank", 3, {}, {}});
  EXPECT_EQ(schema_violations(document), std::vector<std::string>{});
  EXPECT_EQ(json_at(document, "/summary"), R"({"occurrences":17,"races":1,"suppressed":0})");
  EXPECT_EQ(json_at(document, "/run/exit_status"), "3");
  EXPECT_EQ(json_at(document, "/run/complete"), "true");
  EXPECT_EQ(json_at(document, "/losses"), R"({"dropped":2})");
  EXPECT_EQ(json_at(document, "/counters"), R"({"accesses":5})");
  EXPECT_EQ(json_at(document, "/findings/0/occurrences"), "17");
  EXPECT_EQ(json_at(document, "/findings/0/event_index"), "null");
  EXPECT_EQ(json_at(document, "/findings/0/process"), R"({"id":4711,"program":"/opt/bank"})");
  EXPECT_EQ(json_at(document, "/findings/0/memory/kind"), R"("heap")");
  EXPECT_EQ(json_at(document, "/findings/0/memory/allocated/0/offset"), R"("0x3ff")");
  EXPECT_EQ(json_at(document, "/findings/0/later/volatile"), "true");
  EXPECT_EQ(json_at(document, "/findings/0/later/locks/0/acquired/0/offset"), R"("0x2ff")");
  EXPECT_EQ(json_at(document, "/findings/0/earlier/locks_known"), "false");
  EXPECT_EQ(json_at(document, "/findings/0/threads/1/name"), R"("teller")");
  EXPECT_EQ(json_at(document, "/findings/0/threads/1/created/0/module"), R"("/opt/bank")");
}

TEST(LiveJsonTest, SamplingIsThereIfItWasAskedForOrDone) {
  LiveReport report;
  begin_process(report, kProcess);
  EXPECT_EQ(json_at(format_live_json_report(report, {"0.1.0", "/opt/bank", 3, {}, {}}), "/sampling"), "");
  const std::string unknown = format_live_json_report(report, {"0.1.0", "/opt/bank", 3, {}, {}, true});
  EXPECT_EQ(json_at(unknown, "/sampling"), "null");
  EXPECT_EQ(schema_violations(unknown), std::vector<std::string>{});
  feed(report, packets::sampling(kProcess, packets::usual_sampling()));
  const std::string document = format_live_json_report(report, {"0.1.0", "/opt/bank", 3, {}, {}});
  EXPECT_EQ(schema_violations(document), std::vector<std::string>{});
  EXPECT_EQ(json_at(document, "/sampling/rate"), "0.03");
  EXPECT_EQ(json_at(document, "/sampling/budget"), "null");
  EXPECT_EQ(json_at(document, "/sampling/seed"), R"("81234")");
  EXPECT_EQ(json_at(document, "/sampling/effective_rate"), "0.0298");
  EXPECT_EQ(json_at(document, "/sampling/guarantee"),
            R"({"bound_after_one_run":null,"confidence":0.95,"found_per_run":0.03,"runs_to_exclude":99})");
}

TEST(LiveJsonTest, ReportOfAProcessThatSampledNothingSatisfiesTheSchema) {
  LiveReport report;
  feed(report, packets::sampling(kProcess, {}));
  const std::string document = format_live_json_report(report, {"0.1.0", "/opt/bank", 3, {}, {}});
  EXPECT_EQ(schema_violations(document), std::vector<std::string>{});
  EXPECT_EQ(json_at(document, "/sampling/guarantee/runs_to_exclude"), "null");
}

}  // namespace
}  // namespace deadheat
