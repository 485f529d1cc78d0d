// SPDX-License-Identifier: Apache-2.0
#include "trace/text_reader.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "support/temp_path.h"
#include "support/threads.h"
#include "trace/text_format.h"
#include "trace/text_lines.h"

namespace deadheat {
namespace {

std::vector<Event> events_of(const std::string& text) {
  const Result<ParsedTrace> trace = parse_text_trace(text);
  EXPECT_TRUE(trace.ok()) << trace.error().message;
  return trace.ok() ? trace.value().events : std::vector<Event>{};
}

std::string error_of(const std::string& text) {
  const Result<ParsedTrace> trace = parse_text_trace(text);
  if (trace.ok()) return "";
  EXPECT_EQ(trace.error().code, ErrorCode::kMalformed);
  return trace.error().message;
}

TEST(TextReaderTest, BlankLinesAndCommentsAreNothing) {
  EXPECT_TRUE(events_of("\n  \t \n# all of it\n   # indented\n").empty());
  EXPECT_EQ(events_of("0 read 0x10 4 # why\r\n\r\n\t0\twrite 16 4 @a.cpp:1(f)#not a comment\n").size(), 2U);
}

TEST(TextReaderTest, ThreadsAreNumbersOrNumberedOrNamed) {
  EXPECT_EQ(events_of("thread 1 worker\n0 fork worker\nT1 exit\nworker exit"),
            (std::vector<Event>{events::on_thread(EventKind::kFork, kMain, kWorker),
                                events::plain(EventKind::kThreadExit, kWorker),
                                events::plain(EventKind::kThreadExit, kWorker)}));
}

TEST(TextReaderTest, SizeComesFromTheNamedRange) {
  EXPECT_EQ(
      events_of("name x 0x1000 8\n0 write x\n0 read x+6\n0 read x 2\n0 read x+2 4 volatile"),
      (std::vector<Event>{events::write(kMain, 0x1000, 8), events::read(kMain, 0x1006, 2),
                          events::read(kMain, 0x1000, 2), events::read(kMain, 0x1002, 4, AccessFlavour::kVolatile)}));
}

TEST(TextReaderTest, AtomicsDefaultToSequentialConsistency) {
  EXPECT_EQ(
      events_of("0 atomic_store 0x10 4 release\n0 atomic_load 0x10 4\n0 fence acq_rel\n0 fence"),
      (std::vector<Event>{events::atomic(EventKind::kAtomicStore, kMain, 0x10, 4, MemoryOrder::kRelease),
                          events::atomic(EventKind::kAtomicLoad, kMain, 0x10, 4, MemoryOrder::kSeqCst),
                          events::fence(kMain, MemoryOrder::kAcqRel), events::fence(kMain, MemoryOrder::kSeqCst)}));
}

TEST(TextReaderTest, LockWordsComeInAnyOrder) {
  EXPECT_EQ(
      events_of("0 acquire 5 depth=2 try shared\n0 release 5\n0 try_failed 5 shared"),
      (std::vector<Event>{events::acquire(kMain, SyncId{5}, LockMode::kShared, 2, LockAttempt::kTry),
                          events::release(kMain, SyncId{5}), events::try_failed(kMain, SyncId{5}, LockMode::kShared)}));
}

TEST(TextReaderTest, WaitsBarriersAndIgnoresHaveTheirOperands) {
  EXPECT_EQ(events_of("0 wait_begin 1 2\n0 wait_end 1 2\n0 barrier_arrive 3 phase=4\n0 barrier_leave 3 4\n"
                      "0 ignore_begin reads,sync\n0 ignore_end all"),
            (std::vector<Event>{events::wait_begin(kMain, SyncId{1}, SyncId{2}),
                                events::wait_end(kMain, SyncId{1}, SyncId{2}),
                                events::barrier(EventKind::kBarrierArrive, kMain, SyncId{3}, 4),
                                events::barrier(EventKind::kBarrierLeave, kMain, SyncId{3}, 4),
                                events::ignore(EventKind::kIgnoreBegin, kMain, Ignore{5}),
                                events::ignore(EventKind::kIgnoreEnd, kMain, Ignore::kAll)}));
}

TEST(TextReaderTest, UndeclaredNamesGetNumbersAndEnterTheDictionary) {
  const Result<ParsedTrace> trace = parse_text_trace("0 acquire m\n0 write x 4\n0 read x\n0 read y\n0 release m");
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  const auto& [events, dictionary] = trace.value();
  EXPECT_EQ(events[0].sync(), events[4].sync());
  EXPECT_EQ(dictionary.syncs.at(events[0].sync()), "m");
  EXPECT_EQ(events[2].address(), events[1].address());
  EXPECT_EQ(events[2].size(), 4U) << "the size of its first mention";
  EXPECT_EQ(events[3].size(), 8U) << "mentioned without a size";
  EXPECT_GE(events[3].address(), events[1].address() + 4);
  EXPECT_EQ(dictionary.ranges.at(events[1].address()), (NamedRange{4, "x"}));
}

TEST(TextReaderTest, UndeclaredVariablesKeepClearOfDeclaredOnes) {
  const Result<ParsedTrace> trace =
      parse_text_trace("name a 0x100000000 24\nname b 0x100000024 4\n0 read x 8\n0 read y 4");
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  EXPECT_EQ(trace.value().events[0].address(), 0x100000030U);
  EXPECT_EQ(trace.value().events[1].address(), 0x100000040U);
}

TEST(TextReaderTest, SitesAreDeclaredOrWrittenAtTheEvent) {
  const Result<ParsedTrace> trace = parse_text_trace(
      "site 1 increment counter.cpp:12\n"
      "0 read x @1\n"
      "0 read x @counter.cpp:13(increment(int, char))  # a comment\n"
      "0 read x @counter.cpp:13(increment(int, char))\n"
      "0 read x @(start)\n"
      "0 read x @libbank.so+0x1f\n"
      "site 7 - - module=a.out offset=0x2a\n"
      "0 read x @7");
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  const auto& [events, dictionary] = trace.value();
  EXPECT_EQ(dictionary.sites[events[0].site], (Site{"increment", "counter.cpp", 12, "", 0}));
  EXPECT_EQ(dictionary.sites[events[1].site], (Site{"increment(int, char)", "counter.cpp", 13, "", 0}));
  EXPECT_EQ(events[2].site, events[1].site);
  EXPECT_EQ(dictionary.sites[events[3].site], (Site{"start", "", 0, "", 0}));
  EXPECT_EQ(dictionary.sites[events[4].site], (Site{"", "", 0, "libbank.so", 0x1f}));
  EXPECT_EQ(events[5].site, SiteId{7});
  EXPECT_EQ(dictionary.sites[SiteId{7}], (Site{"", "", 0, "a.out", 0x2a}));
}

TEST(TextReaderTest, QuotedNamesMayHoldAnything) {
  const Result<ParsedTrace> trace = parse_text_trace(
      "thread 2 \"the \\\"second\\\" one\"\n"
      "site 1 \"operator== (a\\x0ab)\" file=\"my file#1.cpp\" line=3\n"
      "name \"a b\" 16 4\n"
      "lock \"\" 1");
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  const Dictionary& dictionary = trace.value().dictionary;
  EXPECT_EQ(dictionary.threads.at(ThreadId{2}), "the \"second\" one");
  EXPECT_EQ(dictionary.sites[SiteId{1}], (Site{"operator== (a\nb)", "my file#1.cpp", 3, "", 0}));
  EXPECT_EQ(dictionary.ranges.at(16).name, "a b");
  EXPECT_EQ(dictionary.syncs.at(SyncId{1}), "");
}

struct ErrorCase {
  const char* text;
  const char* error;
};

TEST(TextReaderTest, ErrorsNameTheLineAndTheProblem) {
  const ErrorCase cases[] = {
      {"0 read x\n\n1 aquire m", "line 3: unknown word 'aquire' (did you mean 'acquire'?)"},
      {"0 frobnicate m", "line 1: unknown word 'frobnicate'"},
      {"nmae x 0x10 4",
       "line 1: 'nmae' is neither a thread (0, T0, or declared: thread 0 nmae) nor a declaration (did you mean "
       "'name'?)"},
      {"0", "line 1: thread '0' does nothing: a word such as 'read' is missing"},
      {"16777216 read x", "line 1: thread 16777216 is not below 16777216"},
      {"0 read", "line 1: 'read' needs an address or a name"},
      {"0 acquire", "line 1: 'acquire' needs an object"},
      {"0 fork", "line 1: 'fork' needs a thread"},
      {"0 read 0x10", "line 1: 'read' needs a size in bytes after its address"},
      {"0 read 0x10 0", "line 1: size 0 of read is outside 1 .. 16777216"},
      {"0 read x+2", "line 1: 'x' is not declared, so 'x+2' has no meaning: write name x ADDRESS SIZE first"},
      {"name x 16 4\n0 read x+4", "line 2: 'x+4' is outside of 'x', which has 4 bytes"},
      {"name x 16 4\n0 read x+y", "line 2: 'x+y': a number must follow the +"},
      {"0 read 12ab 4", "line 1: '12ab' is neither an address nor a name"},
      {"0 acquire +", "line 1: '+' is neither a number nor a name"},
      {"0 read x 4 4", "line 1: '4' is neither a size nor 'volatile'"},
      {"0 read x 4 volatile 4", "line 1: '4' is one word too many"},
      {"0 exit 4", "line 1: '4' is one word too many"},
      {"0 atomic_load x 4 aquire", "line 1: unknown memory order 'aquire' (did you mean 'acquire'?)"},
      {"0 acquire m sharde",
       "line 1: 'sharde' says nothing about a lock: write shared, exclusive, try, blocking or depth=NUMBER"
       " (did you mean 'shared'?)"},
      {"0 acquire m depth=65536", "line 1: depth 65536 is above 65535"},
      {"0 barrier_arrive b", "line 1: 'barrier_arrive' needs phase=NUMBER"},
      {"0 wait_begin c", "line 1: 'wait_begin' needs a condition and its mutex"},
      {"0 ignore_begin", "line 1: 'ignore_begin' needs what to ignore: all, or some of reads,writes,sync"},
      {"0 ignore_begin reads,", "line 1: '' cannot be ignored: write all, or some of reads,writes,sync"},
      {"0 read x @", "line 1: nothing follows the @"},
      {"@a.cpp:1", "line 1: a site without an event"},
      {"name x 0x10", "line 1: a range is declared as: name NAME ADDRESS SIZE"},
      {"name x 16 4\nname y 18 4", "line 2: 'y' overlaps 'x' at 0x10"},
      {"name x 16 4\nname y 12 5", "line 2: 'y' overlaps 'x' at 0x10"},
      {"name x 0xffffffffffffffff 1", "line 1: 'x' reaches beyond the last address"},
      {"lock m", "line 1: an object is declared as: sync NAME NUMBER (or lock NAME NUMBER)"},
      {"lock m 1\nlock n 1", "line 2: object 0x1 is called 'm' already"},
      {"lock m 1\nlock m 2\n0 acquire m", "line 3: several objects are called 'm': write the number"},
      {"name x 16 4\nname x 32 4\n0 read x", "line 3: several ranges are called 'x': write the address"},
      {"thread 1 w\nthread 1 v", "line 2: thread 1 is called 'w' already"},
      {"thread 1 w\nthread 2 w\nw exit", "line 3: several threads are called 'w': write the number"},
      {"site 1 f\nsite 1 g", "line 2: site 1 is declared already: the next is 2"},
      {"site 0 f", "line 1: site 0 is the unknown site"},
      {"site 4000000000 f", "line 1: site 4000000000 skips too many numbers: the next is 1"},
      {"site 1 f lien=3", "line 1: a site has no 'lien' (did you mean 'line'?); put a text with = in quotes"},
      {"site 1 f line=x", "line 1: 'line=x' is not a number up to 4294967295"},
      {"thread 1 \"a", "line 1: a quote has no end"},
      {"thread 1 \"\\n\"",
       "line 1: \"\\n\": a backslash in quotes stands before \", \\ or x and two hexadecimal digits"},
      {"0 1 2 3 4 5 6 7 8 9 10", "line 1: more than 10 words"},
  };
  for (const auto& [text, error] : cases) EXPECT_EQ(error_of(text), error) << text;
}

class TextFile {
 public:
  explicit TextFile(const std::string& content) : path_(temp_path("text_reader_test.trace")) {
    std::ofstream(path_, std::ios::binary) << content;
  }
  ~TextFile() { std::remove(path_.c_str()); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(TextReaderTest, FileIsDeliveredInBatchesToItsEnd) {
  std::string content = "name x 0x1000 8\n";
  constexpr std::uint64_t kEvents = 20'000;
  for (std::uint64_t i = 0; i < kEvents; ++i) content += "0 write x+" + std::to_string(i % 8) + " 1\n";
  const TextFile file(content);
  auto source = open_text_trace(file.path());
  ASSERT_TRUE(source.ok()) << source.error().message;
  std::uint64_t count = 0;
  for (;;) {
    const auto batch = source.value()->next_batch();
    ASSERT_TRUE(batch.ok()) << batch.error().message;
    if (batch.value().empty()) break;
    for (const Event& event : batch.value()) EXPECT_EQ(event.address(), 0x1000 + count++ % 8);
  }
  EXPECT_EQ(count, kEvents);
  EXPECT_EQ(source.value()->progress().done, content.size());
  EXPECT_EQ(source.value()->progress().total, content.size());
  EXPECT_EQ(source.value()->truncation(), std::nullopt);
}

TEST(TextReaderTest, EventsBeforeABadLineAreDeliveredFirst) {
  const TextFile file("0 read 0x10 4\n0 raed 0x10 4\n0 read 0x10 4\n");
  auto source = open_text_trace(file.path());
  ASSERT_TRUE(source.ok());
  const auto good = source.value()->next_batch();
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(good.value().size(), 1U);
  const auto bad = source.value()->next_batch();
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().message, "line 2: unknown word 'raed' (did you mean 'read'?)");
  const auto end = source.value()->next_batch();
  ASSERT_TRUE(end.ok());
  EXPECT_TRUE(end.value().empty());
}

TEST(TextReaderTest, CutLastLineIsATruncation) {
  const TextFile file("0 read 0x10 4\n0 wri");
  auto source = open_text_trace(file.path());
  ASSERT_TRUE(source.ok());
  const auto good = source.value()->next_batch();
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(good.value().size(), 1U);
  const auto end = source.value()->next_batch();
  ASSERT_TRUE(end.ok());
  EXPECT_TRUE(end.value().empty());
  EXPECT_EQ(source.value()->truncation(), "the file ends in the middle of a line; line 2: unknown word 'wri'");
}

TEST(TextReaderTest, OverlongLineIsMalformedWithoutBeingStored) {
  const TextFile file("0 read 0x10 4\n0 read " + std::string(3 * LineReader::kLongestLine, 'x') + " 4\n");
  auto source = open_text_trace(file.path());
  ASSERT_TRUE(source.ok());
  ASSERT_TRUE(source.value()->next_batch().ok());
  const auto bad = source.value()->next_batch();
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().message, "line 2: longer than 65536 bytes");
}

TEST(TextReaderTest, MissingFileIsAnIoError) {
  const auto source = open_text_trace("/nonexistent/x.trace");
  ASSERT_FALSE(source.ok());
  EXPECT_EQ(source.error().code, ErrorCode::kIo);
  EXPECT_EQ(source.error().message, "cannot open trace '/nonexistent/x.trace': No such file or directory");
}

}  // namespace
}  // namespace deadheat
