// SPDX-License-Identifier: Apache-2.0
// Damaged, cut off and foreign files: the reader delivers what is certain and
// says what is wrong; it never delivers an event that was not written.
#include "binary_test_support.h"
#include "trace/binary_event_decoder.h"
#include "trace/chunk_checksum.h"

namespace deadheat {
namespace {

TEST(BinaryDamageTest, CutAtEveryByteLeavesReadablePrefix) {
  const std::vector<Event> events = random_events(3, 40);
  const Bytes bytes = trace_bytes(events, 8);
  std::size_t most = 0;
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const Outcome outcome = read_memory(std::span{bytes}.first(size));
    ASSERT_TRUE(is_prefix(outcome.events, events)) << "cut at " << size;
    ASSERT_GE(outcome.events.size(), most) << "a longer file holds at least as much; cut at " << size;
    most = outcome.events.size();
    if (size < kFileHeaderSize) {
      ASSERT_TRUE(outcome.error.has_value()) << "cut at " << size;
    } else {
      ASSERT_FALSE(outcome.error.has_value()) << outcome.error->message << "; cut at " << size;
      ASSERT_TRUE(outcome.truncation.has_value()) << "cut at " << size;
      EXPECT_NE(outcome.truncation->find("byte " + std::to_string(size)), std::string::npos) << *outcome.truncation;
    }
  }
  EXPECT_EQ(most, events.size()) << "all events are there before the end marker is";
}

TEST(BinaryDamageTest, EveryFlippedBitIsDetected) {
  const std::vector<Event> events = random_events(4, 24);
  Bytes bytes = trace_bytes(events, 8);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      bytes[at] ^= static_cast<std::byte>(1U << bit);
      const Outcome outcome = read_memory(bytes);
      ASSERT_TRUE(outcome.error.has_value()) << "byte " << at << " bit " << bit;
      ASSERT_TRUE(is_prefix(outcome.events, events)) << "byte " << at << " bit " << bit;
      bytes[at] ^= static_cast<std::byte>(1U << bit);
    }
  }
}

TEST(BinaryDamageTest, DamageInTheMiddleNamesTheByteAfterDeliveringWhatIsBefore) {
  const std::vector<Event> events = random_events(5, 16);
  Bytes bytes = trace_bytes(events, 8);
  const Bytes first_half = trace_bytes({events.begin(), events.begin() + 8}, 8);
  // Both files are equal up to the end of the first events chunk.
  const auto second_chunk =
      static_cast<std::size_t>(std::mismatch(bytes.begin(), bytes.end(), first_half.begin()).first - bytes.begin());
  const std::size_t chunk_start = second_chunk - 4;  // the mark and then the kind differ
  bytes[chunk_start + kChunkHeaderSize + 3] ^= std::byte{0x40};
  const Outcome outcome = read_memory(bytes);
  ASSERT_TRUE(outcome.error.has_value());
  EXPECT_EQ(outcome.error->code, ErrorCode::kMalformed);
  EXPECT_NE(outcome.error->message.find("byte " + std::to_string(chunk_start)), std::string::npos)
      << outcome.error->message;
  EXPECT_EQ(outcome.events.size(), 8U);
  EXPECT_TRUE(is_prefix(outcome.events, events));
}

TEST(BinaryDamageTest, NewerVersionIsUnsupportedAndSaysSo) {
  Bytes bytes = trace_bytes({}, 8);
  bytes[kBinaryMagic.size()] = std::byte{7};
  const Outcome outcome = read_memory(bytes);
  ASSERT_TRUE(outcome.error.has_value());
  EXPECT_EQ(outcome.error->code, ErrorCode::kUnsupported);
  EXPECT_NE(outcome.error->message.find("version 7, newest known 2"), std::string::npos) << outcome.error->message;
}

// A file header, a chunk of a kind from the future, and the end marker.
Bytes with_unknown_chunk(bool skippable) {
  Bytes bytes;
  append_file_header(bytes, {});
  const Bytes payload(5, std::byte{1});
  ChunkHeader header;
  header.kind = 77;
  header.skippable = skippable;
  header.compression = 9;
  header.stored_size = static_cast<std::uint32_t>(payload.size());
  header.payload_checksum = xxh64(payload);
  append_chunk_header(bytes, header);
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  const Bytes end(2, std::byte{0});
  ChunkHeader end_header;
  end_header.kind = raw(ChunkKind::kEnd);
  end_header.stored_size = end_header.raw_size = 2;
  end_header.payload_checksum = xxh64(end);
  append_chunk_header(bytes, end_header);
  bytes.insert(bytes.end(), end.begin(), end.end());
  return bytes;
}

TEST(BinaryDamageTest, UnknownChunkIsSkippedOnlyIfItSaysSo) {
  EXPECT_TRUE(read_memory(with_unknown_chunk(true)).is_complete());
  const Outcome outcome = read_memory(with_unknown_chunk(false));
  ASSERT_TRUE(outcome.error.has_value());
  EXPECT_EQ(outcome.error->code, ErrorCode::kUnsupported);
}

TEST(BinaryDamageTest, BytesBehindTheEndMarkerAreMalformed) {
  const std::vector<Event> events = random_events(6, 3);
  Bytes bytes = trace_bytes(events, 8);
  bytes.push_back(std::byte{0});
  const Outcome outcome = read_memory(bytes);
  ASSERT_TRUE(outcome.error.has_value());
  EXPECT_EQ(outcome.error->code, ErrorCode::kMalformed);
  EXPECT_EQ(outcome.events, events);
}

TEST(BinaryDamageTest, MissingChunkInTheMiddleIsMalformed) {
  const std::vector<Event> events = random_events(7, 16);
  const Bytes both = trace_bytes(events, 8);
  const Bytes first = trace_bytes({events.begin(), events.begin() + 8}, 8);
  const auto differ =
      static_cast<std::size_t>(std::mismatch(first.begin(), first.end(), both.begin()).first - first.begin());
  const std::size_t end_of_first = differ - 4;
  // The end marker of the longer trace right behind the first chunk.
  Bytes bytes{both.begin(), both.begin() + static_cast<std::ptrdiff_t>(end_of_first)};
  const std::size_t end_marker = first.size() - end_of_first;
  bytes.insert(bytes.end(), both.end() - static_cast<std::ptrdiff_t>(end_marker), both.end());
  const Outcome outcome = read_memory(bytes);
  ASSERT_TRUE(outcome.error.has_value());
  EXPECT_EQ(outcome.error->code, ErrorCode::kMalformed);
  EXPECT_EQ(outcome.events.size(), 8U);
}

// The event decoder behind the checksums, on bytes that nobody checked.
TEST(BinaryDamageTest, DecoderSurvivesAnyChangeOfAPayloadAndYieldsOnlyValidEvents) {
  EventEncoder encoder{Sequences::kPresent};
  for (const Event& event : random_events(8, 300)) encoder.add(event, 1);
  Bytes payload;
  encoder.encode(payload);
  Random random{9};
  PaddedBytes padded;
  auto decoder = std::make_unique<EventDecoder>();
  for (int round = 0; round < 20000; ++round) {
    padded.resize(payload.size() - random.below(3));
    std::copy_n(payload.begin(), padded.bytes().size(), padded.bytes().begin());
    for (std::uint64_t change = random.below(4); change > 0; --change) {
      padded.bytes()[random.below(padded.bytes().size())] = static_cast<std::byte>(random.next());
    }
    if (!decoder->begin(padded, 300, Sequences::kPresent)) continue;
    for (;;) {
      const auto batch = decoder->next();
      if (!batch || batch.value().empty()) break;
      ASSERT_EQ(decoder->sequences().size(), batch.value().size());
      for (const Event& event : batch.value()) ASSERT_TRUE(is_valid(event)) << validate(event).error().message;
    }
  }
}

}  // namespace
}  // namespace deadheat
