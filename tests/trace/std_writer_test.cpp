// SPDX-License-Identifier: Apache-2.0
#include "trace/std_writer.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "support/temp_path.h"
#include "trace/std_reader.h"
#include "trace/text_reader.h"

namespace deadheat {
namespace {

using Counts = std::map<std::string, std::uint64_t>;

struct Export {
  std::string text;
  std::string error;  // empty if all went well
  Counts lost;
};

Export export_trace(const ParsedTrace& trace, StdLoss loss) {
  const std::string path = temp_path("std_writer_test.std");
  Export result;
  auto sink = create_std_sink(path, loss);
  EXPECT_TRUE(sink.ok());
  EXPECT_TRUE(sink.value()->update(trace.dictionary).ok());
  if (const Status status = sink.value()->write(trace.events); !status.ok()) {
    EXPECT_EQ(status.error().code, ErrorCode::kUnsupported);
    result.error = status.error().message;
  }
  EXPECT_TRUE(sink.value()->close().ok());
  result.lost = sink.value()->lost_events();
  std::ostringstream content;
  content << std::ifstream(path).rdbuf();
  result.text = content.str();
  std::remove(path.c_str());
  return result;
}

Export export_text(const std::string& text, StdLoss loss = StdLoss::kRefuse) {
  const Result<ParsedTrace> trace = parse_text_trace(text);
  EXPECT_TRUE(trace.ok()) << trace.error().message;
  return trace.ok() ? export_trace(trace.value(), loss) : Export{};
}

TEST(StdWriterTest, WhatStdCanExpressIsWrittenWithItsNames) {
  const Export result = export_text(
      "thread 1 worker\n"
      "name x 0x1000 8\n"
      "0 fork 1 @main.cpp:3(main)\n"
      "1 acquire m @(run)\n"
      "1 write x 4\n"
      "1 read 0x2000 4\n"
      "1 release m\n"
      "0 join worker\n");
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(result.text,
            "T0|fork(worker)|main.cpp:3\n"
            "worker|acq(m)|run\n"
            "worker|w(x)|0\n"
            "worker|r(V2000)|0\n"
            "worker|rel(m)|0\n"
            "T0|join(worker)|0\n");
  EXPECT_TRUE(result.lost.empty());
}

TEST(StdWriterTest, StdTraceSurvivesReadingAndWriting) {
  const std::string text =
      "main|w(x)|12\n"
      "main|fork(worker)|13\n"
      "other|r(x)|Foo.java:7\n"
      "worker|acq(l)|run\n"
      "worker|acq(l)|run\n"
      "worker|r(a[0].b)|0\n"
      "worker|rel(l)|run\n"
      "worker|rel(l)|run\n"
      "main|join(worker)|14\n";
  const Result<ParsedTrace> trace = parse_std_trace(text);
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  EXPECT_EQ(export_trace(trace.value(), StdLoss::kRefuse).text, text);
}

TEST(StdWriterTest, ConditionWaitIsARelAndAnAcqOfItsMutex) {
  EXPECT_EQ(export_text("0 acquire m\n0 wait_begin c m\n0 wait_end c m\n0 release m").text,
            "T0|acq(m)|0\nT0|rel(m)|0\nT0|acq(m)|0\nT0|rel(m)|0\n");
}

TEST(StdWriterTest, HarmlessEventsAreDroppedAndCounted) {
  const Export result = export_text("0 enter\n0 enter\n0 leave\n0 try_failed m\n0 signal c\n0 write x\n0 exit");
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(result.text, "T0|w(x)|0\n");
  EXPECT_EQ(result.lost, (Counts{{"enter", 2}, {"exit", 1}, {"leave", 1}, {"signal", 1}, {"try_failed", 1}}));
}

TEST(StdWriterTest, EventsThatWouldChangeTheVerdictAreRefused) {
  for (const char* line : {"atomic_load x", "atomic_store x", "atomic_rmw x", "fence", "acquire m shared",
                           "barrier_arrive b 0", "post s", "sem_wait s", "once_complete o", "happens_before h",
                           "ignore_begin all", "benign x", "alloc x", "free x", "destroy m"}) {
    const Export result = export_text(std::string("0 write y\n0 ") + line + "\n0 write y\n");
    EXPECT_NE(result.error.find("event 1: STD cannot express"), std::string::npos) << line << ": " << result.error;
  }
}

TEST(StdWriterTest, OnDemandTheyAreDroppedAndCountedToo) {
  const Export result = export_text("0 atomic_store x 4 release\n0 acquire m shared\n0 write y\n0 release m shared",
                                    StdLoss::kDropAndCount);
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(result.text, "T0|w(y)|0\n");
  EXPECT_EQ(result.lost, (Counts{{"acquire shared", 1}, {"atomic_store", 1}, {"release shared", 1}}));
}

TEST(StdWriterTest, PartialOverlapIsRefusedOrCounted) {
  const char* const text =
      "0 write 0x10 8\n0 write 0x18 8\n0 write 0x10 8\n0 read 0x14 4\n0 read 0x10 4\n0 read 0x0c 8";
  EXPECT_EQ(export_text(text).error,
            "event 3: STD cannot express 'partial overlap', and without it the races would be others");
  EXPECT_EQ(export_text(text, StdLoss::kDropAndCount).lost, (Counts{{"partial overlap", 3}}));
}

TEST(StdWriterTest, NamesStayDistinctAndFreeOfSyntax) {
  EXPECT_EQ(
      export_text("lock \"a b\" 1\nlock \"a|b\" 2\nthread 1 T0\n0 acquire 1\n0 acquire 2\n1 root\n1 acquire 3\n").text,
      "T0|acq(a_b)|0\nT0|acq(a_b')|0\nT0'|acq(L3)|0\n");
}

}  // namespace
}  // namespace deadheat
