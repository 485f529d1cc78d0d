// SPDX-License-Identifier: Apache-2.0
// BinaryReader: reads a binary trace (FORMAT.md) that may be damaged, cut off,
// or made to do harm. It holds one chunk in memory, compressed and not, and
// delivers events in batches that fit into the cache.
//
// Three ways to end:
//   the end marker        truncation() is empty;
//   the bytes run out     next_batch() ends normally, truncation() says where;
//   a chunk is damaged    next_batch() is an error that names the byte.
// In all three, what was delivered before is what was written.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "model/dictionary.h"
#include "model/event.h"
#include "trace/binary_event_decoder.h"
#include "trace/binary_input.h"
#include "trace/chunk_header.h"
#include "trace/event_source.h"

namespace deadheat {

struct BinaryReaderOptions {
  Checksums checksums = Checksums::kVerified;
};

class BinaryReader final : public EventSource {
 public:
  // Errors: kIo (cannot open or read), kUnsupported (not a binary trace, newer
  // version), kMalformed (empty or damaged header).
  static Result<std::unique_ptr<BinaryReader>> open(const std::string& path, const BinaryReaderOptions& options = {});
  // Opens a file whose beginning somebody has looked at. Errors as above.
  static Result<std::unique_ptr<BinaryReader>> open(TraceFile file);
  // Reads from memory, which must outlive the reader. Errors as above.
  static Result<std::unique_ptr<BinaryReader>> open_memory(std::span<const std::byte> bytes,
                                                           const BinaryReaderOptions& options = {});
  ~BinaryReader() override;

  Result<std::span<const Event>> next_batch() override;
  [[nodiscard]] const Dictionary& dictionary() const override { return dictionary_; }
  [[nodiscard]] SourceProgress progress() const override { return input_->progress(); }
  [[nodiscard]] std::optional<std::string> truncation() const override { return truncation_; }

  [[nodiscard]] Sequences has_sequences() const { return header_.sequences; }
  // The sequence numbers of the events of the last batch; empty when the trace
  // has none.
  [[nodiscard]] std::span<const std::uint64_t> sequences() const { return decoder_.sequences(); }

 private:
  struct Decompressor;
  enum class Stage : std::uint8_t { kBetweenChunks, kInEvents, kEnded };

  BinaryReader(std::unique_ptr<BinaryInput> input, const BinaryReaderOptions& options);
  static Result<std::unique_ptr<BinaryReader>> start(std::unique_ptr<BinaryInput> input,
                                                     const BinaryReaderOptions& options);
  Status read_file_header();
  Status read_chunk();
  Status accept_chunk(const ChunkHeader& header, std::span<const std::byte> stored);
  Status accept_end();
  void end_truncated(const char* where);
  Error end_with(const Error& error);

  std::unique_ptr<BinaryInput> input_;
  BinaryReaderOptions options_;
  FileHeader header_;
  Stage stage_ = Stage::kBetweenChunks;
  std::unique_ptr<Decompressor> decompressor_;
  PaddedBytes payload_;
  EventDecoder decoder_;
  Dictionary dictionary_;
  std::uint64_t chunk_start_ = 0;  // byte of the current chunk's header
  std::uint64_t delivered_ = 0;    // events
  std::optional<std::string> truncation_;
};

// The EventSource of open_trace().
Result<std::unique_ptr<EventSource>> open_binary_trace(TraceFile file);

}  // namespace deadheat
