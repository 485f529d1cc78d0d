// SPDX-License-Identifier: Apache-2.0
#include "trace/std_reader.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "support/temp_path.h"
#include "trace/event_source.h"
#include "trace/text_writer.h"
#include "trace/trace_checker.h"

namespace deadheat {
namespace {

// The events in words, one per line: what the STD text means.
std::string meaning_of(const std::string& text) {
  const Result<ParsedTrace> trace = parse_std_trace(text);
  if (!trace.ok()) return trace.error().message;
  std::string words;
  for (const Event& event : trace.value().events) words += to_text(event, trace.value().dictionary) + "\n";
  return words;
}

TEST(StdReaderTest, EveryOperationHasItsEvent) {
  EXPECT_EQ(meaning_of("T0|r(V123)|345\n"
                       "T0|fork(T2)|123\n"
                       "T2|acq(L34)|120\n"
                       "T2|w(V234.23[0])|Foo.java:456\n"
                       "T2|rel(L34)|run\n"
                       "T0|join(T2)|0\n"),
            "0 read V123 8 @1\n"
            "0 fork 1 @2\n"
            "1 acquire L34 @3\n"
            "1 write V234.23[0] 8 @Foo.java:456\n"
            "1 release L34 @(run)\n"
            "0 join 1\n");
}

TEST(StdReaderTest, DictionaryKeepsTheNamesAndVariablesLieApart) {
  const Result<ParsedTrace> trace = parse_std_trace("main|r(x)|1\nmain|w(y)|1\nmain|acq(l)|2\n");
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  const auto& [events, dictionary] = trace.value();
  EXPECT_EQ(dictionary.threads.at(ThreadId{0}), "main");
  EXPECT_EQ(dictionary.ranges.at(events[0].address()), (NamedRange{8, "x"}));
  EXPECT_EQ(dictionary.ranges.at(events[1].address()), (NamedRange{8, "y"}));
  EXPECT_GT(events[1].address(), events[0].address() + 8);
  EXPECT_EQ(events[0].address() % 8, 0U);
  EXPECT_EQ(dictionary.syncs.at(events[2].sync()), "l");
  EXPECT_EQ(events[0].site, events[1].site);
  EXPECT_EQ(dictionary.sites[events[0].site].line, 1U);
}

TEST(StdReaderTest, ThreadThatNothingForkedBecomesARoot) {
  EXPECT_EQ(meaning_of("A|w(x)|0\nB|w(x)|0\nA|fork(C)|0\nC|w(x)|0\nB|w(x)|0\nA|join(D)|0\n"),
            "0 write x 8\n"
            "1 root\n"
            "1 write x 8\n"
            "0 fork 2\n"
            "2 write x 8\n"
            "1 write x 8\n"
            "3 root\n"
            "0 join 3\n");
}

TEST(StdReaderTest, ForkAfterTheFirstEventOfTheThreadIsLeftToTheChecker) {
  const Result<ParsedTrace> trace = parse_std_trace("A|w(x)|0\nB|w(x)|0\nA|fork(B)|0\n");
  ASSERT_TRUE(trace.ok());
  TraceChecker checker({.names = &trace.value().dictionary});
  const Status status = checker.check(std::span<const Event>(trace.value().events));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "event 3: thread 0 (A) forks thread 1 (B), which exists already");
}

TEST(StdReaderTest, ReentrantAcquiresGetTheirDepth) {
  EXPECT_EQ(meaning_of("A|acq(l)|0\nA|acq(l)|0\nA|rel(l)|0\nA|acq(l)|0\nA|rel(l)|0\nA|rel(l)|0\nA|rel(l)|0\n"),
            "0 acquire l\n0 acquire l depth=2\n0 release l depth=2\n0 acquire l depth=2\n0 release l depth=2\n"
            "0 release l\n0 release l\n");
}

TEST(StdReaderTest, UnknownOperationsAreSkippedAndCounted) {
  const std::string path = temp_path("std_reader_test.std");
  std::ofstream(path) << "T0|begin|1\nT0|branch|2\nT0|w(x)|3\nT0|enq(q)|4\nT0|branch|5\nT0|end|6\n";
  auto source = open_std_source(path);
  ASSERT_TRUE(source.ok()) << source.error().message;
  const auto batch = source.value()->next_batch();
  ASSERT_TRUE(batch.ok());
  EXPECT_EQ(batch.value().size(), 1U);
  EXPECT_EQ(source.value()->skipped(),
            (std::map<std::string, std::uint64_t>{{"begin", 1}, {"branch", 2}, {"end", 1}, {"enq", 1}}));
  std::remove(path.c_str());
}

TEST(StdReaderTest, FilesAreRecognisedByTheirContent) {
  const std::string path = temp_path("std_reader_test_dispatch");
  std::ofstream(path) << "# logged by hand\n\nT0|w(x)|3\n";
  auto source = open_trace(path);
  ASSERT_TRUE(source.ok()) << source.error().message;
  const auto batch = source.value()->next_batch();
  ASSERT_TRUE(batch.ok()) << batch.error().message;
  EXPECT_EQ(batch.value().size(), 1U);
  std::remove(path.c_str());
}

TEST(StdReaderTest, BlanksAndMissingLocationsAreTolerated) {
  EXPECT_EQ(meaning_of("  T0 | w(x) | 7 \r\n\nT0|r(x)\n# comment\nT0|r(x)|"),
            "0 write x 8 @1\n0 read x 8\n0 read x 8\n");
}

TEST(StdReaderTest, ErrorsNameTheLineAndTheProblem) {
  EXPECT_EQ(meaning_of("T0|w(x)|1\nhello\n"),
            "line 2: 'hello' does not have the form thread|operation(operand)|location");
  EXPECT_EQ(meaning_of("T0|w(x|1\n"), "line 1: 'T0|w(x|1' does not have the form thread|operation(operand)|location");
  EXPECT_EQ(meaning_of("|w(x)|1\n"), "line 1: '|w(x)|1' does not have the form thread|operation(operand)|location");
  EXPECT_EQ(meaning_of("T0|w|1\n"), "line 1: 'w' needs an operand in parentheses");
  EXPECT_EQ(meaning_of("T0|w(x)|1\nT0|w("), "the file ends in the middle of line 2");
}

}  // namespace
}  // namespace deadheat
