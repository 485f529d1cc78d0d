// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <zstd.h>

#include <cstring>

#include "trace/chunk_checksum.h"
#include "trace/chunk_header.h"

namespace deadheat {
namespace {

Bytes bytes_of(std::string_view text) {
  const auto view = std::as_bytes(std::span{text.data(), text.size()});
  return {view.begin(), view.end()};
}

TEST(ChunkChecksumTest, MatchesPublishedValues) {
  EXPECT_EQ(xxh64({}), 0xef46db3751d8e999ULL);
  EXPECT_EQ(xxh64(bytes_of("a")), 0xd24ec4f1a98c6e5bULL);
  EXPECT_EQ(xxh64(bytes_of("abc")), 0x44bc2cf5ad770999ULL);
}

// A zstd frame may end with the low half of its content's XXH64: an
// independent implementation to compare with, at all lengths of the tail.
TEST(ChunkChecksumTest, AgreesWithZstdForEveryLength) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  for (std::size_t size = 0; size < 200; ++size) {
    Bytes content;
    for (std::size_t at = 0; at < size; ++at) content.push_back(static_cast<std::byte>(at * 37 + size));
    Bytes frame(ZSTD_compressBound(size));
    frame.resize(ZSTD_compress2(context, frame.data(), frame.size(), content.data(), size));
    std::uint32_t expected = 0;
    std::memcpy(&expected, frame.data() + frame.size() - 4, 4);
    EXPECT_EQ(static_cast<std::uint32_t>(xxh64(content)), expected) << "size " << size;
  }
  ZSTD_freeCCtx(context);
}

TEST(ChunkHeaderTest, FieldsRoundTrip) {
  ChunkHeader header;
  header.kind = 200;
  header.skippable = true;
  header.compression = 1;
  header.stored_size = 12;
  header.raw_size = kLargestChunk;
  header.event_count = 7;
  header.first_event = UINT64_MAX;
  header.payload_checksum = 0x0123456789abcdefULL;
  Bytes bytes;
  append_chunk_header(bytes, header);
  ASSERT_EQ(bytes.size(), kChunkHeaderSize);
  const auto parsed = parse_chunk_header(bytes, Checksums::kVerified);
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed.value().kind, 200);
  EXPECT_TRUE(parsed.value().skippable);
  EXPECT_EQ(parsed.value().raw_size, kLargestChunk);
  EXPECT_EQ(parsed.value().event_count, 7U);
  EXPECT_EQ(parsed.value().first_event, UINT64_MAX);
  EXPECT_EQ(parsed.value().payload_checksum, 0x0123456789abcdefULL);
}

TEST(ChunkHeaderTest, OversizedChunkIsMalformedEvenWithGoodChecksum) {
  ChunkHeader header;
  header.stored_size = kLargestChunk + 1;
  Bytes bytes;
  append_chunk_header(bytes, header);
  const auto parsed = parse_chunk_header(bytes, Checksums::kVerified);
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.error().code, ErrorCode::kMalformed);
}

}  // namespace
}  // namespace deadheat
