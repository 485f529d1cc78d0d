// SPDX-License-Identifier: Apache-2.0
#include "trace/stream_merge.h"

#include "binary_test_support.h"

namespace deadheat {
namespace {

enum class Ending : std::uint8_t { kClosed, kCutOff };

// A stream of writes by one thread, one per sequence number; the address says
// the number, so that the merged order can be seen.
void write_stream(const TemporaryFile& file, std::uint32_t thread, const std::vector<std::uint64_t>& sequences,
                  Ending ending = Ending::kClosed, const Dictionary& dictionary = {}, SiteId site = {}) {
  auto writer = BinaryWriter::create(file.path(), {.sequences = Sequences::kPresent, .chunk_events = 4});
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(writer.value()->update(dictionary).ok());
  for (const std::uint64_t sequence : sequences) {
    const SequencedEvent event{sequence, events::at(events::write(ThreadId{thread}, sequence, 1), site)};
    ASSERT_TRUE(writer.value()->write_sequenced(std::span{&event, 1}).ok());
  }
  ASSERT_TRUE(writer.value()->flush().ok());
  if (ending == Ending::kClosed) {
    ASSERT_TRUE(writer.value()->close().ok());
  }
}

Outcome merge(const std::vector<std::string>& paths) { return read_all(merge_streams(paths)); }

TEST(StreamMergeTest, RandomStreamsComeOutInSequenceOrder) {
  Random random{31};
  const TemporaryFile files[3] = {TemporaryFile{"m0"}, TemporaryFile{"m1"}, TemporaryFile{"m2"}};
  std::vector<std::uint64_t> sequences[3];
  for (std::uint64_t sequence = 0; sequence < 20000; ++sequence) sequences[random.below(3)].push_back(sequence);
  for (std::uint32_t stream = 0; stream < 3; ++stream) write_stream(files[stream], stream, sequences[stream]);
  const Outcome outcome = merge({files[0].path(), files[1].path(), files[2].path()});
  EXPECT_TRUE(outcome.is_complete());
  ASSERT_EQ(outcome.events.size(), 20000U);
  for (std::uint64_t sequence = 0; sequence < 20000; ++sequence) {
    ASSERT_EQ(outcome.events[sequence].address(), sequence);
  }
}

TEST(StreamMergeTest, EqualNumbersAreOrderedByThread) {
  const TemporaryFile first{"t0"};
  const TemporaryFile second{"t1"};
  write_stream(first, 9, {1, 2, 2, 3});
  write_stream(second, 4, {2, 3});
  const Outcome outcome = merge({first.path(), second.path()});
  std::vector<std::uint32_t> threads;
  for (const Event& event : outcome.events) threads.push_back(raw(event.thread));
  EXPECT_EQ(threads, (std::vector<std::uint32_t>{9, 4, 9, 9, 4, 9}));
}

TEST(StreamMergeTest, StreamThatGoesBackwardsIsInvalidAndNamed) {
  const TemporaryFile good{"good"};
  const TemporaryFile bad{"bad"};
  write_stream(good, 1, {1, 4, 9});
  write_stream(bad, 2, {2, 5, 3});
  const Outcome outcome = merge({good.path(), bad.path()});
  ASSERT_TRUE(outcome.error.has_value());
  EXPECT_EQ(outcome.error->code, ErrorCode::kInvalid);
  EXPECT_NE(outcome.error->message.find(bad.path()), std::string::npos) << outcome.error->message;
  EXPECT_NE(outcome.error->message.find("3 follows 5"), std::string::npos) << outcome.error->message;
  EXPECT_EQ(outcome.events.size(), 4U) << "1, 2, 4, 5 are in order";
}

TEST(StreamMergeTest, CutOffStreamEndsTheMergedTraceWhereItEnds) {
  const TemporaryFile whole{"whole"};
  const TemporaryFile cut{"cut"};
  write_stream(whole, 1, {1, 3, 5, 7, 9});
  write_stream(cut, 2, {2, 4}, Ending::kCutOff);
  const Outcome outcome = merge({whole.path(), cut.path()});
  EXPECT_FALSE(outcome.error.has_value());
  ASSERT_TRUE(outcome.truncation.has_value());
  EXPECT_NE(outcome.truncation->find(cut.path()), std::string::npos) << *outcome.truncation;
  EXPECT_EQ(outcome.events.size(), 4U) << "1 to 4; the second thread may have done something before 5";
}

TEST(StreamMergeTest, StreamThatEndsWithThreadExitIsWholeWithoutItsEndMarker) {
  const TemporaryFile whole{"other"};
  const TemporaryFile exited{"exited"};
  write_stream(whole, 1, {1, 3, 5});
  auto writer = BinaryWriter::create(exited.path(), {.sequences = Sequences::kPresent});
  ASSERT_TRUE(writer.ok());
  const SequencedEvent exit{2, events::plain(EventKind::kThreadExit, ThreadId{2})};
  ASSERT_TRUE(writer.value()->write_sequenced(std::span{&exit, 1}).ok());
  ASSERT_TRUE(writer.value()->flush().ok());
  const Outcome outcome = merge({whole.path(), exited.path()});
  EXPECT_TRUE(outcome.is_complete());
  EXPECT_EQ(outcome.events.size(), 4U);
}

TEST(StreamMergeTest, SitesAreRenumberedAndNamesUnited) {
  Dictionary left;
  left.sites.add({"left", "", 1, "", 0});
  const SiteId left_shared = left.sites.add({"shared", "", 2, "", 0});
  left.threads[ThreadId{1}] = "one";
  Dictionary right;
  const SiteId right_shared = right.sites.add({"shared", "", 2, "", 0});
  right.ranges[64] = {8, "variable"};
  const TemporaryFile first{"left"};
  const TemporaryFile second{"right"};
  write_stream(first, 1, {1}, Ending::kClosed, left, left_shared);
  write_stream(second, 2, {2}, Ending::kClosed, right, right_shared);
  const Outcome outcome = merge({first.path(), second.path()});
  ASSERT_EQ(outcome.events.size(), 2U);
  EXPECT_EQ(outcome.events[0].site, outcome.events[1].site);
  EXPECT_EQ(outcome.dictionary.sites[outcome.events[0].site].function, "shared");
  EXPECT_EQ(outcome.dictionary.threads.at(ThreadId{1}), "one");
  EXPECT_EQ(outcome.dictionary.ranges.at(64).name, "variable");
}

TEST(StreamMergeTest, TraceWithoutSequenceNumbersIsUnsupported) {
  const TemporaryFile file{"plain"};
  auto writer = BinaryWriter::create(file.path());
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(writer.value()->close().ok());
  const Outcome outcome = merge({file.path()});
  ASSERT_TRUE(outcome.error.has_value());
  EXPECT_EQ(outcome.error->code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace deadheat
