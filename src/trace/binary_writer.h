// SPDX-License-Identifier: Apache-2.0
// BinaryWriter: writes a binary trace (FORMAT.md).
//
// What survives a crash: chunks go to the file whole, each by one write(2), and
// nothing but the events of the open chunk is held back. A writer that is
// killed at any moment leaves a file whose complete chunks are readable; the
// kernel keeps what write(2) took even when the process dies. When the system
// refuses a write (disk full), the part of the chunk that got through is cut
// off again, so that the file ends at a chunk boundary.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "model/event.h"
#include "trace/binary_dictionary.h"
#include "trace/binary_event_encoder.h"
#include "trace/chunk_header.h"
#include "trace/event_sink.h"

namespace deadheat {

// An event of a per-thread stream with its place in the order of all streams.
struct SequencedEvent {
  std::uint64_t sequence = 0;
  Event event;
  friend bool operator==(const SequencedEvent&, const SequencedEvent&) = default;
};

struct BinaryWriterOptions {
  Sequences sequences = Sequences::kAbsent;
  // Events per chunk, 1 .. kMostChunkEvents. Fewer lose less in a crash and
  // compress worse.
  std::uint32_t chunk_events = kMostChunkEvents;
};

class BinaryWriter final : public EventSink {
 public:
  // Errors: kIo.
  static Result<std::unique_ptr<BinaryWriter>> create(const std::string& path, const BinaryWriterOptions& options = {});
  ~BinaryWriter() override;

  // Requires a trace without sequence numbers.
  Status write(std::span<const Event> events) override;
  // Requires a trace with sequence numbers.
  Status write_sequenced(std::span<const SequencedEvent> events);

  Status update(const Dictionary& dictionary) override;
  Status flush() override;
  Status close() override;

 private:
  struct Compressor;

  BinaryWriter(int descriptor, const std::string& path, const BinaryWriterOptions& options);
  Status add(const Event& event, std::uint64_t sequence);
  Status write_chunk(ChunkKind kind, std::span<const std::byte> payload, std::uint32_t event_count);
  Status write_whole(std::span<const std::byte> bytes);
  Status fail(int error_number);

  int descriptor_;
  std::string path_;
  BinaryWriterOptions options_;
  EventEncoder encoder_;
  DictionaryEncoder dictionary_;
  std::unique_ptr<Compressor> compressor_;
  Bytes payload_;  // of the chunk being written, reused
  Bytes chunk_;
  std::uint64_t events_written_ = 0;  // in chunks before the open one
  std::uint64_t file_size_ = 0;
  Status failure_;  // once the system has refused, every call says so
};

// The EventSink of create_trace().
Result<std::unique_ptr<EventSink>> create_binary_trace(const std::string& path);

}  // namespace deadheat
