// SPDX-License-Identifier: Apache-2.0
#include "trace/chunk_header.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "trace/chunk_checksum.h"
#include "trace/malformed.h"

namespace deadheat {
namespace {

constexpr std::uint32_t kFlagSequences = 1;
constexpr std::uint8_t kFlagSkippable = 1;

// The checksum is the last field of both headers and covers all before it.
void append_own_checksum(Bytes& out, std::size_t header_size) {
  const std::size_t covered = header_size - sizeof(std::uint64_t);
  DEADHEAT_CHECK(out.size() >= covered);
  append_fixed(out, xxh64(std::span{out}.last(covered)));
}

bool own_checksum_matches(std::span<const std::byte> header) {
  const std::size_t covered = header.size() - sizeof(std::uint64_t);
  return ByteCursor{header.subspan(covered)}.fixed<std::uint64_t>() == xxh64(header.first(covered));
}

}  // namespace

bool has_binary_magic(std::span<const std::byte> bytes) {
  const auto magic = std::as_bytes(std::span{kBinaryMagic});
  return bytes.size() >= magic.size() && std::equal(magic.begin(), magic.end(), bytes.begin());
}

void append_file_header(Bytes& out, const FileHeader& header) {
  for (const unsigned char letter : kBinaryMagic) out.push_back(std::byte{letter});
  append_fixed<std::uint32_t>(out, kBinaryVersion);
  append_fixed<std::uint32_t>(out, header.sequences == Sequences::kPresent ? kFlagSequences : 0);
  append_fixed<std::uint64_t>(out, 0);
  append_own_checksum(out, kFileHeaderSize);
}

Result<FileHeader> parse_file_header(std::span<const std::byte> bytes, Checksums checksums) {
  DEADHEAT_CHECK(bytes.size() == kFileHeaderSize);
  if (!has_binary_magic(bytes)) return Error{ErrorCode::kUnsupported, "not a binary trace"};
  ByteCursor cursor{bytes.subspan(kBinaryMagic.size())};
  // The version comes before the checksum, because only the magic and the
  // version are sure to stay where they are in later versions.
  const auto version = cursor.fixed<std::uint32_t>();
  if (version == 0 || version > kBinaryVersion) {
    return Error{ErrorCode::kUnsupported, fmt::format("version {}, newest known {}", version, kBinaryVersion)};
  }
  if (checksums == Checksums::kVerified && !own_checksum_matches(bytes)) {
    return malformed("checksum mismatch in the file header");
  }
  const auto flags = cursor.fixed<std::uint32_t>();
  const auto reserved = cursor.fixed<std::uint64_t>();
  if ((flags & ~kFlagSequences) != 0 || reserved != 0) {
    return Error{ErrorCode::kUnsupported, fmt::format("unknown flags {:#x} in the file header", flags)};
  }
  return FileHeader{(flags & kFlagSequences) != 0 ? Sequences::kPresent : Sequences::kAbsent};
}

void append_chunk_header(Bytes& out, const ChunkHeader& header) {
  append_fixed<std::uint32_t>(out, kChunkMark);
  append_fixed<std::uint8_t>(out, header.kind);
  append_fixed<std::uint8_t>(out, header.skippable ? kFlagSkippable : 0);
  append_fixed<std::uint8_t>(out, header.compression);
  append_fixed<std::uint8_t>(out, 0);
  append_fixed<std::uint32_t>(out, header.stored_size);
  append_fixed<std::uint32_t>(out, header.raw_size);
  append_fixed<std::uint32_t>(out, header.event_count);
  append_fixed<std::uint32_t>(out, 0);
  append_fixed<std::uint64_t>(out, header.first_event);
  append_fixed<std::uint64_t>(out, header.payload_checksum);
  append_own_checksum(out, kChunkHeaderSize);
}

Result<ChunkHeader> parse_chunk_header(std::span<const std::byte> bytes, Checksums checksums) {
  DEADHEAT_CHECK(bytes.size() == kChunkHeaderSize);
  ByteCursor cursor{bytes};
  if (cursor.fixed<std::uint32_t>() != kChunkMark) return malformed("no chunk begins here");
  if (checksums == Checksums::kVerified && !own_checksum_matches(bytes)) {
    return malformed("checksum mismatch in the chunk header");
  }
  ChunkHeader header;
  header.kind = cursor.fixed<std::uint8_t>();
  header.skippable = (cursor.fixed<std::uint8_t>() & kFlagSkippable) != 0;
  header.compression = cursor.fixed<std::uint8_t>();
  cursor.take(1);
  header.stored_size = cursor.fixed<std::uint32_t>();
  header.raw_size = cursor.fixed<std::uint32_t>();
  header.event_count = cursor.fixed<std::uint32_t>();
  cursor.take(4);
  header.first_event = cursor.fixed<std::uint64_t>();
  header.payload_checksum = cursor.fixed<std::uint64_t>();
  if (header.stored_size > kLargestChunk || header.raw_size > kLargestChunk) {
    return malformed("chunk of {} bytes, {} decompressed; the limit is {}", header.stored_size, header.raw_size,
                     kLargestChunk);
  }
  return header;
}

}  // namespace deadheat
