// SPDX-License-Identifier: Apache-2.0
// The fixed parts of a binary trace: the file header and the header of a
// chunk. FORMAT.md is their specification; this is the only code that knows
// their bytes.
//
// A chunk's header carries a checksum of itself, separate from the checksum of
// the payload: a damaged length is then recognised as damage and never
// mistaken for a file that ends too early.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "trace/varint.h"

namespace deadheat {

// The first byte is not ASCII and the line ends are of both kinds, so that no
// text file begins like this and a transfer that "repairs" line ends is caught.
inline constexpr std::array<unsigned char, 8> kBinaryMagic = {0x89, 'D', 'H', 'T', '\r', '\n', 0x1a, '\n'};
inline constexpr std::uint32_t kBinaryVersion = 2;

inline constexpr std::size_t kFileHeaderSize = 32;
inline constexpr std::size_t kChunkHeaderSize = 48;
inline constexpr std::uint32_t kChunkMark = 0x4b434844;  // "DHCK"

// No chunk is larger than this, before or after compression, so that a reader
// knows how much memory a trace can ask for.
inline constexpr std::uint32_t kLargestChunk = 16U << 20U;

// Whether each event carries a sequence number (see stream_merge.h).
enum class Sequences : std::uint8_t { kAbsent, kPresent };

struct FileHeader {
  Sequences sequences = Sequences::kAbsent;
};

enum class ChunkKind : std::uint8_t { kEnd = 1, kEvents = 2, kDictionary = 3 };
enum class Compression : std::uint8_t { kNone = 0, kZstd = 1 };

struct ChunkHeader {
  std::uint8_t kind = 0;  // a ChunkKind, or one that this version does not know
  bool skippable = false;
  std::uint8_t compression = 0;
  std::uint32_t stored_size = 0;  // bytes of payload in the file
  std::uint32_t raw_size = 0;     // bytes of payload after decompression
  std::uint32_t event_count = 0;
  std::uint64_t first_event = 0;  // events in all chunks before this one
  std::uint64_t payload_checksum = 0;
};

// For fuzzing: a fuzzer cannot guess checksums.
enum class Checksums : std::uint8_t { kVerified, kIgnored };

void append_file_header(Bytes& out, const FileHeader& header);

// Requires kFileHeaderSize bytes. Errors: kUnsupported (not a binary trace, a
// newer version, unknown flags), kMalformed (checksum).
Result<FileHeader> parse_file_header(std::span<const std::byte> bytes, Checksums checksums);

void append_chunk_header(Bytes& out, const ChunkHeader& header);

// Requires kChunkHeaderSize bytes. Errors: kMalformed (mark, checksum, sizes).
Result<ChunkHeader> parse_chunk_header(std::span<const std::byte> bytes, Checksums checksums);

// True when the bytes begin with the magic of a binary trace.
[[nodiscard]] bool has_binary_magic(std::span<const std::byte> bytes);

}  // namespace deadheat
