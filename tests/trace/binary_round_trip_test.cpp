// SPDX-License-Identifier: Apache-2.0
// What is written is what is read: every field of every kind, dictionaries,
// sequence numbers, at every chunk size that changes the layout.
#include "binary_test_support.h"

namespace deadheat {
namespace {

class BinaryRoundTripTest : public testing::TestWithParam<std::uint32_t> {};

TEST_P(BinaryRoundTripTest, RandomEventsOfAllKindsComeBackExactly) {
  const std::uint64_t seed = 20 + GetParam();
  SCOPED_TRACE("seed " + std::to_string(seed));
  const std::vector<Event> events = random_events(seed, 5000);
  const Outcome outcome = read_memory(trace_bytes(events, GetParam()));
  EXPECT_TRUE(outcome.is_complete());
  EXPECT_EQ(outcome.events, events);
  EXPECT_EQ(outcome.dictionary, small_dictionary());
}

INSTANTIATE_TEST_SUITE_P(ChunkSizes, BinaryRoundTripTest, testing::Values(1, 2, 3, 256, 257, 4999, 5000, 65536));

// 300 threads and 300 sites: both index columns need their second byte.
TEST(BinaryRoundTripTest, ManyThreadsAndShapesComeBackExactly) {
  std::vector<Event> events;
  for (std::uint32_t number = 0; number < 200000; ++number) {
    events.push_back(events::at(events::read(ThreadId{number % 300}, 0x1000 + 8 * number, 8), SiteId{number % 301}));
  }
  const Outcome outcome = read_memory(trace_bytes(events, kMostChunkEvents));
  EXPECT_TRUE(outcome.is_complete());
  EXPECT_EQ(outcome.events, events);
}

TEST(BinaryRoundTripTest, StridedLoopTakesLessThanAByteForTenEvents) {
  std::vector<Event> events;
  for (std::uint64_t number = 0; number < 65536; ++number) {
    events.push_back(events::at(events::read(ThreadId{1}, 0x7f0000000000 + 8 * number, 8), SiteId{1}));
    events.push_back(events::at(events::write(ThreadId{1}, 0x7f1000000000 + 16 * number, 4), SiteId{2}));
  }
  EXPECT_LT(trace_bytes(events, kMostChunkEvents).size(), events.size() / 10);
}

TEST(BinaryRoundTripTest, TraceWithoutEventsIsComplete) {
  const Outcome outcome = read_memory(trace_bytes({}, 10));
  EXPECT_TRUE(outcome.is_complete());
  EXPECT_TRUE(outcome.events.empty());
}

TEST(BinaryRoundTripTest, SequenceNumbersComeBackExactly) {
  const std::vector<std::uint64_t> numbers = {5, 5, 6, UINT64_MAX, 0, 1ULL << 63U, 7};
  const TemporaryFile file{"sequences"};
  auto writer = BinaryWriter::create(file.path(), {.sequences = Sequences::kPresent, .chunk_events = 3});
  ASSERT_TRUE(writer.ok());
  const std::vector<Event> events = random_events(1, numbers.size());
  for (std::size_t index = 0; index < events.size(); ++index) {
    const SequencedEvent event{numbers[index], events[index]};
    ASSERT_TRUE(writer.value()->write_sequenced(std::span{&event, 1}).ok());
  }
  ASSERT_TRUE(writer.value()->close().ok());
  const Outcome outcome = read_all(BinaryReader::open(file.path()));
  EXPECT_TRUE(outcome.is_complete());
  EXPECT_EQ(outcome.events, events);
  EXPECT_EQ(outcome.sequences, numbers);
}

TEST(BinaryRoundTripTest, GrowingDictionaryIsKnownBeforeTheEventsThatUseIt) {
  const TemporaryFile file{"growing"};
  auto writer = BinaryWriter::create(file.path(), {.chunk_events = 1});
  ASSERT_TRUE(writer.ok());
  Dictionary dictionary;
  for (std::uint32_t number = 1; number <= 50; ++number) {
    const SiteId site = dictionary.sites.add({"function" + std::to_string(number), "", number, "", 0, number % 3});
    // Downwards, so that new keys come before old ones.
    dictionary.ranges[1000 - 10 * number] = {10, "range" + std::to_string(number)};
    dictionary.threads[ThreadId{100 - number}] = "thread" + std::to_string(number);
    ASSERT_TRUE(writer.value()->update(dictionary).ok());
    const Event event = events::at(events::read(ThreadId{100 - number}, 1, 1), site);
    ASSERT_TRUE(writer.value()->write(std::span{&event, 1}).ok());
  }
  ASSERT_TRUE(writer.value()->close().ok());
  auto reader = BinaryReader::open(file.path());
  ASSERT_TRUE(reader.ok());
  for (std::uint32_t number = 1; number <= 50; ++number) {
    const auto batch = reader.value()->next_batch();
    ASSERT_TRUE(batch.ok());
    ASSERT_EQ(batch.value().size(), 1U);
    EXPECT_EQ(reader.value()->dictionary().sites[batch.value()[0].site].line, number);
  }
  EXPECT_EQ(read_all(*reader.value()).dictionary, dictionary);
}

TEST(BinaryRoundTripTest, UnchangedDictionaryIsWrittenOnce) {
  const TemporaryFile file{"unchanged"};
  auto writer = BinaryWriter::create(file.path());
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(writer.value()->update(small_dictionary()).ok());
  const auto size = std::filesystem::file_size(file.path());
  ASSERT_TRUE(writer.value()->update(small_dictionary()).ok());
  EXPECT_EQ(std::filesystem::file_size(file.path()), size);
}

TEST(BinaryRoundTripTest, InvalidEventIsRefusedAndThoseBeforeItStay) {
  const TemporaryFile file{"refused"};
  auto writer = BinaryWriter::create(file.path());
  ASSERT_TRUE(writer.ok());
  const std::vector<Event> events = {events::read(ThreadId{1}, 8, 8), events::read(ThreadId{1}, 8, 0)};
  const Status status = writer.value()->write(events);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kInvalid);
  EXPECT_NE(status.error().message.find("event 1"), std::string::npos) << status.error().message;
  ASSERT_TRUE(writer.value()->close().ok());
  EXPECT_EQ(read_all(BinaryReader::open(file.path())).events.size(), 1U);
}

TEST(BinaryRoundTripTest, OverlappingNamesAreRefused) {
  const TemporaryFile file{"overlap"};
  auto writer = BinaryWriter::create(file.path());
  ASSERT_TRUE(writer.ok());
  Dictionary dictionary;
  dictionary.ranges[100] = {8, "first"};
  dictionary.ranges[107] = {8, "second"};
  const Status status = writer.value()->update(dictionary);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kInvalid);
}

}  // namespace
}  // namespace deadheat
