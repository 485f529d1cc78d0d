// SPDX-License-Identifier: Apache-2.0
// EventDecoder turns the payload of one events chunk back into events, some
// thousands at a time so that they stay in the cache between the decoder and
// its user. It trusts nothing: every length, index and field is checked, and a
// payload that breaks a rule yields the events before the break, then an error.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "model/event.h"
#include "trace/binary_event_columns.h"
#include "trace/chunk_header.h"
#include "trace/varint.h"

namespace deadheat {

// Bytes with room behind them: a reader may load eight bytes wherever one
// byte is in range.
class PaddedBytes {
 public:
  static constexpr std::size_t kPadding = 16;

  // The content is undefined afterwards.
  void resize(std::size_t size) {
    if (size + kPadding > capacity_) {
      capacity_ = size + kPadding;
      bytes_ = std::make_unique_for_overwrite<std::byte[]>(capacity_);
    }
    size_ = size;
    std::fill_n(bytes_.get() + size, kPadding, std::byte{0});
  }
  [[nodiscard]] std::span<std::byte> bytes() { return {bytes_.get(), size_}; }
  [[nodiscard]] std::span<const std::byte> bytes() const { return {bytes_.get(), size_}; }

 private:
  std::unique_ptr<std::byte[]> bytes_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

class EventDecoder {
 public:
  static constexpr std::size_t kBatch = 2048;

  // Starts on a chunk of `count` events. The payload must outlive the decoding.
  // Errors: kMalformed, kInvalid (a shape breaks a rule of event_validity.h).
  Status begin(const PaddedBytes& payload, std::uint32_t count, Sequences sequences);

  // The next events of the chunk, valid until the next call; empty at its end.
  // Errors: kMalformed, kInvalid; after an error the decoder is at its end.
  Result<std::span<const Event>> next();

  // The sequence numbers of the events that next() delivered last; empty when
  // the trace has none.
  [[nodiscard]] std::span<const std::uint64_t> sequences() const {
    return {sequence_batch_.data(), sequence_batch_.size()};
  }

 private:
  // Aligned so that a shape lies in one cache line.
  struct alignas(64) Shape {
    Event event;
    std::uint64_t greatest_object = 0;
    std::uint32_t sort = 0;
  };

  Status read_tables(ByteCursor& cursor, std::uint64_t thread_count, std::uint64_t shape_count);
  Status decode_sequences(std::size_t count);
  template <unsigned kThreadWidth, unsigned kShapeWidth>
  std::size_t decode_events(std::size_t count);
  std::size_t decode_any(std::size_t count);
  [[nodiscard]] Error explain_break(std::size_t index) const;

  std::vector<ThreadContext> threads_;
  std::vector<Shape> shapes_;
  StrideTable strides_{};

  // The columns of the current chunk; the second plane of an index is `count_`
  // bytes behind the first.
  const std::byte* thread_column_ = nullptr;
  const std::byte* shape_column_ = nullptr;
  const std::byte* code_column_ = nullptr;
  const std::byte* difference_ = nullptr;
  const std::byte* difference_end_ = nullptr;
  std::span<const std::byte> sequence_column_;
  std::uint64_t last_sequence_ = 0;
  Sequences has_sequences_ = Sequences::kAbsent;

  std::size_t count_ = 0;
  std::size_t done_ = 0;
  std::optional<Error> pending_error_;

  std::array<Event, kBatch> batch_{};
  std::vector<std::uint64_t> sequence_batch_;
};

}  // namespace deadheat
