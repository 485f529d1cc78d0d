// SPDX-License-Identifier: Apache-2.0
#include "trace/binary_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "trace/chunk_checksum.h"
#include "trace/event_validity.h"

namespace deadheat {

struct BinaryWriter::Compressor {
  // Level 3 saves no more than a few percent on columns of this kind, and
  // decodes more slowly.
  static constexpr int kLevel = 1;

  Compressor() : context(ZSTD_createCCtx()) { DEADHEAT_CHECK(context != nullptr); }
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;
  ~Compressor() { ZSTD_freeCCtx(context); }

  // Appends the compressed payload; yields its size.
  std::size_t append(Bytes& out, std::span<const std::byte> payload) const {
    const std::size_t start = out.size();
    out.resize(start + ZSTD_compressBound(payload.size()));
    const std::size_t size =
        ZSTD_compressCCtx(context, out.data() + start, out.size() - start, payload.data(), payload.size(), kLevel);
    DEADHEAT_CHECK(!ZSTD_isError(size));
    out.resize(start + size);
    return size;
  }

  ZSTD_CCtx* context;
};

Result<std::unique_ptr<BinaryWriter>> BinaryWriter::create(const std::string& path,
                                                           const BinaryWriterOptions& options) {
  DEADHEAT_CHECK(options.chunk_events >= 1 && options.chunk_events <= kMostChunkEvents);
  const int descriptor =
      path == "-" ? ::dup(STDOUT_FILENO) : ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) {
    return Error{ErrorCode::kIo, fmt::format("cannot create trace '{}': {}", path, std::strerror(errno))};
  }
  std::unique_ptr<BinaryWriter> writer{new BinaryWriter(descriptor, path, options)};
  Bytes header;
  append_file_header(header, {options.sequences});
  if (Status status = writer->write_whole(header); !status) return status.error();
  return writer;
}

BinaryWriter::BinaryWriter(int descriptor, const std::string& path, const BinaryWriterOptions& options)
    : descriptor_(descriptor),
      path_(path),
      options_(options),
      encoder_(options.sequences),
      compressor_(std::make_unique<Compressor>()) {}

BinaryWriter::~BinaryWriter() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Status BinaryWriter::write(std::span<const Event> events) {
  DEADHEAT_CHECK(options_.sequences == Sequences::kAbsent);
  for (const Event& event : events) {
    if (Status status = add(event, 0); !status) return status;
  }
  return failure_;
}

Status BinaryWriter::write_sequenced(std::span<const SequencedEvent> events) {
  DEADHEAT_CHECK(options_.sequences == Sequences::kPresent);
  for (const SequencedEvent& event : events) {
    if (Status status = add(event.event, event.sequence); !status) return status;
  }
  return failure_;
}

Status BinaryWriter::add(const Event& event, std::uint64_t sequence) {
  if (!failure_) [[unlikely]]
    return failure_;
  if (!is_valid(event)) [[unlikely]] {
    return Error{ErrorCode::kInvalid,
                 fmt::format("cannot write event {} to trace '{}': {}", events_written_ + encoder_.size(), path_,
                             validate(event).error().message)};
  }
  encoder_.add(event, sequence);
  if (encoder_.size() < options_.chunk_events) return {};
  return flush();
}

Status BinaryWriter::flush() {
  if (!failure_) return failure_;
  const std::uint32_t count = encoder_.size();
  if (count == 0) return {};
  encoder_.encode(payload_);
  if (Status status = write_chunk(ChunkKind::kEvents, payload_, count); !status) return status;
  events_written_ += count;
  return {};
}

Status BinaryWriter::update(const Dictionary& dictionary) {
  if (!failure_) return failure_;
  const Result<std::vector<Bytes>> payloads = dictionary_.encode_new(dictionary);
  if (!payloads) {
    return Error{payloads.error().code, fmt::format("cannot write to trace '{}': {}", path_, payloads.error().message)};
  }
  for (const Bytes& payload : payloads.value()) {
    if (Status status = write_chunk(ChunkKind::kDictionary, payload, 0); !status) return status;
  }
  return {};
}

Status BinaryWriter::close() {
  DEADHEAT_CHECK(descriptor_ >= 0);
  Status status = flush();
  if (status) {
    payload_.clear();
    append_varint(payload_, events_written_);
    append_varint(payload_, dictionary_.sites_written());
    status = write_chunk(ChunkKind::kEnd, payload_, 0);
  }
  const int closed = ::close(std::exchange(descriptor_, -1));
  if (status && closed != 0) return fail(errno);
  return status;
}

Status BinaryWriter::write_chunk(ChunkKind kind, std::span<const std::byte> payload, std::uint32_t event_count) {
  chunk_.assign(kChunkHeaderSize, std::byte{0});
  const std::size_t stored = compressor_->append(chunk_, payload);
  ChunkHeader header;
  header.kind = raw(kind);
  header.compression = raw(Compression::kZstd);
  header.stored_size = static_cast<std::uint32_t>(stored);
  header.raw_size = static_cast<std::uint32_t>(payload.size());
  header.event_count = event_count;
  header.first_event = events_written_;
  header.payload_checksum = xxh64(std::span{chunk_}.subspan(kChunkHeaderSize));
  Bytes packed;
  append_chunk_header(packed, header);
  std::copy(packed.begin(), packed.end(), chunk_.begin());
  return write_whole(chunk_);
}

Status BinaryWriter::write_whole(std::span<const std::byte> bytes) {
  for (std::size_t written = 0; written < bytes.size();) {
    const ssize_t count = ::write(descriptor_, bytes.data() + written, bytes.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(errno);
    written += static_cast<std::size_t>(count);
  }
  file_size_ += bytes.size();
  return {};
}

Status BinaryWriter::fail(int error_number) {
  failure_ = Error{ErrorCode::kIo, fmt::format("cannot write trace '{}' at byte {}: {}; {} events are in it", path_,
                                               file_size_, std::strerror(error_number), events_written_)};
  // Cutting off the partial chunk is a courtesy; a reader copes without it, and
  // a pipe has nothing to cut.
  if (descriptor_ >= 0 && path_ != "-" && ::ftruncate(descriptor_, static_cast<off_t>(file_size_)) != 0) errno = 0;
  return failure_;
}

Result<std::unique_ptr<EventSink>> create_binary_trace(const std::string& path) {
  auto writer = BinaryWriter::create(path);
  if (!writer) return writer.error();
  return std::unique_ptr<EventSink>{std::move(writer).value()};
}

}  // namespace deadheat
