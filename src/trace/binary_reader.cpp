// SPDX-License-Identifier: Apache-2.0
#include "trace/binary_reader.h"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "trace/binary_dictionary.h"
#include "trace/chunk_checksum.h"
#include "trace/malformed.h"

namespace deadheat {
struct BinaryReader::Decompressor {
  Decompressor() : context(ZSTD_createDCtx()) { DEADHEAT_CHECK(context != nullptr); }
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;
  ~Decompressor() { ZSTD_freeDCtx(context); }

  // Fills `payload`. Both sizes of the header have been bounded before.
  Status unpack(const ChunkHeader& header, std::span<const std::byte> stored, PaddedBytes& payload) const {
    switch (Compression{header.compression}) {
      case Compression::kNone:
        if (header.raw_size != stored.size()) return malformed("an uncompressed chunk has two sizes");
        payload.resize(stored.size());
        std::copy(stored.begin(), stored.end(), payload.bytes().begin());
        return {};
      case Compression::kZstd:
        break;
      default:
        return Error{ErrorCode::kUnsupported, fmt::format("unknown compression {}", header.compression)};
    }
    // Asked before memory is reserved: a lie in our header costs nothing then.
    if (ZSTD_getFrameContentSize(stored.data(), stored.size()) != header.raw_size) {
      return malformed("the compressed chunk does not have the size that its header says");
    }
    payload.resize(header.raw_size);
    const std::size_t size =
        ZSTD_decompressDCtx(context, payload.bytes().data(), header.raw_size, stored.data(), stored.size());
    if (ZSTD_isError(size) || size != header.raw_size) return malformed("the chunk cannot be decompressed");
    return {};
  }

  ZSTD_DCtx* context;
};

BinaryReader::BinaryReader(std::unique_ptr<BinaryInput> input, const BinaryReaderOptions& options)
    : input_(std::move(input)), options_(options), decompressor_(std::make_unique<Decompressor>()) {}

BinaryReader::~BinaryReader() = default;

Result<std::unique_ptr<BinaryReader>> BinaryReader::open(const std::string& path, const BinaryReaderOptions& options) {
  auto file = TraceFile::open(path);
  if (!file) return file.error();
  return start(binary_input_from(std::move(file).value()), options);
}

Result<std::unique_ptr<BinaryReader>> BinaryReader::open(TraceFile file) {
  return start(binary_input_from(std::move(file)), {});
}

Result<std::unique_ptr<BinaryReader>> BinaryReader::open_memory(std::span<const std::byte> bytes,
                                                                const BinaryReaderOptions& options) {
  return start(binary_input_from(bytes, "trace in memory"), options);
}

Result<std::unique_ptr<BinaryReader>> BinaryReader::start(std::unique_ptr<BinaryInput> input,
                                                          const BinaryReaderOptions& options) {
  std::unique_ptr<BinaryReader> reader{new BinaryReader(std::move(input), options)};
  if (Status status = reader->read_file_header(); !status) {
    return Error{status.error().code,
                 fmt::format("cannot open {}: {}", reader->input_->name(), status.error().message)};
  }
  return reader;
}

Status BinaryReader::read_file_header() {
  const auto bytes = input_->take(kFileHeaderSize);
  if (!bytes) return bytes.error();
  if (bytes.value().empty()) return malformed("it is empty");
  if (bytes.value().size() < kFileHeaderSize) {
    if (!has_binary_magic(bytes.value())) return Error{ErrorCode::kUnsupported, "not a binary trace"};
    return malformed("it ends inside its header, at byte {}", bytes.value().size());
  }
  const auto header = parse_file_header(bytes.value(), options_.checksums);
  if (!header) return header.error();
  header_ = header.value();
  return {};
}

Result<std::span<const Event>> BinaryReader::next_batch() {
  for (;;) {
    switch (stage_) {
      case Stage::kEnded:
        return std::span<const Event>{};
      case Stage::kBetweenChunks:
        if (Status status = read_chunk(); !status) return end_with(status.error());
        break;
      case Stage::kInEvents: {
        const auto batch = decoder_.next();
        if (!batch) return end_with(batch.error());
        delivered_ += batch.value().size();
        if (!batch.value().empty()) return batch;
        stage_ = Stage::kBetweenChunks;
        break;
      }
    }
  }
}

Status BinaryReader::read_chunk() {
  chunk_start_ = input_->progress().done;
  const auto header_bytes = input_->take(kChunkHeaderSize);
  if (!header_bytes) return header_bytes.error();
  if (header_bytes.value().empty()) {
    end_truncated("without its end marker");
    return {};
  }
  if (header_bytes.value().size() < kChunkHeaderSize) {
    end_truncated("inside a chunk header");
    return {};
  }
  const auto header = parse_chunk_header(header_bytes.value(), options_.checksums);
  if (!header) return header.error();
  const auto stored = input_->take(header.value().stored_size);
  if (!stored) return stored.error();
  if (stored.value().size() < header.value().stored_size) {
    end_truncated("inside a chunk");
    return {};
  }
  return accept_chunk(header.value(), stored.value());
}

Status BinaryReader::accept_chunk(const ChunkHeader& header, std::span<const std::byte> stored) {
  if (options_.checksums == Checksums::kVerified && xxh64(stored) != header.payload_checksum) {
    return malformed("checksum mismatch in the chunk");
  }
  const bool is_known = header.kind >= raw(ChunkKind::kEnd) && header.kind <= raw(ChunkKind::kDictionary);
  if (!is_known && header.skippable) return {};
  if (!is_known) return Error{ErrorCode::kUnsupported, fmt::format("chunk of unknown kind {}", header.kind)};
  if (header.first_event != delivered_) {
    return malformed("a chunk that begins with event {} follows event {}", header.first_event, delivered_);
  }
  if (Status status = decompressor_->unpack(header, stored, payload_); !status) return status;
  switch (ChunkKind{header.kind}) {
    case ChunkKind::kEnd:
      return accept_end();
    case ChunkKind::kDictionary:
      return decode_dictionary(payload_.bytes(), dictionary_);
    case ChunkKind::kEvents:
      break;
  }
  if (Status status = decoder_.begin(payload_, header.event_count, header_.sequences); !status) return status;
  stage_ = Stage::kInEvents;
  return {};
}

Status BinaryReader::accept_end() {
  ByteCursor cursor{std::as_const(payload_).bytes()};
  const std::uint64_t events = cursor.varint();
  const std::uint64_t sites = cursor.varint();
  if (cursor.failed()) return malformed("the end marker is damaged");
  if (events != delivered_ || sites != dictionary_.sites.size() - 1) {
    return malformed("the end marker counts {} events and {} sites, but {} and {} came before it", events, sites,
                     delivered_, dictionary_.sites.size() - 1);
  }
  const auto rest = input_->take(1);
  if (!rest) return rest.error();
  if (!rest.value().empty()) return malformed("bytes follow the end marker");
  stage_ = Stage::kEnded;
  return {};
}

void BinaryReader::end_truncated(const char* where) {
  stage_ = Stage::kEnded;
  truncation_ = fmt::format("{} ends {} at byte {}; the {} events before are intact", input_->name(), where,
                            input_->progress().done, delivered_);
}

Error BinaryReader::end_with(const Error& error) {
  stage_ = Stage::kEnded;
  if (error.code == ErrorCode::kIo) return error;
  return {error.code, fmt::format("{}, chunk at byte {}: {}", input_->name(), chunk_start_, error.message)};
}

Result<std::unique_ptr<EventSource>> open_binary_trace(TraceFile file) {
  auto reader = BinaryReader::open(std::move(file));
  if (!reader) return reader.error();
  return std::unique_ptr<EventSource>{std::move(reader).value()};
}

}  // namespace deadheat
