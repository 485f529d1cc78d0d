// SPDX-License-Identifier: Apache-2.0
#include "trace/binary_event_decoder.h"

#include <algorithm>
#include <cstring>

#include "trace/event_validity.h"
#include "trace/malformed.h"
#include "trace/varint.h"

namespace deadheat {
namespace {

// By number of bytes; longer codes are refused before the table is asked.
constexpr std::array<std::uint64_t, kLongestDifference + 1> kByteMasks = [] {
  std::array<std::uint64_t, kLongestDifference + 1> masks{};
  for (unsigned length = 1; length <= kLongestDifference; ++length) masks[length] = ~0ULL >> (64 - 8 * length);
  return masks;
}();

template <unsigned kWidth>
std::uint32_t index_at(const std::byte* column, std::size_t at, std::size_t plane) {
  if constexpr (kWidth == 0) return 0;
  auto index = static_cast<std::uint32_t>(column[at]);
  if constexpr (kWidth == 2) index |= static_cast<std::uint32_t>(column[at + plane]) << 8U;
  return index;
}

}  // namespace

Status EventDecoder::begin(const PaddedBytes& payload, std::uint32_t count, Sequences sequences) {
  count_ = done_ = 0;
  pending_error_.reset();
  sequence_batch_.clear();
  has_sequences_ = sequences;
  if (count == 0 || count > kMostChunkEvents) {
    return malformed("{} events in a chunk; 1 .. {} are possible", count, kMostChunkEvents);
  }
  ByteCursor cursor{payload.bytes()};
  // An entry that no event uses is allowed, but not more entries than events.
  const std::uint64_t thread_count = cursor.varint_up_to(count);
  const std::uint64_t shape_count = cursor.varint_up_to(count);
  const std::uint64_t sequence_bytes = cursor.varint();
  if (Status status = read_tables(cursor, thread_count, shape_count); !status) return status;

  thread_column_ = cursor.take(std::uint64_t{count} * index_width(threads_.size())).data();
  shape_column_ = cursor.take(std::uint64_t{count} * index_width(shapes_.size())).data();
  sequence_column_ = cursor.take(sequence_bytes);
  code_column_ = cursor.take(count).data();
  const auto differences = cursor.take(cursor.remaining());
  difference_ = differences.data();
  difference_end_ = differences.data() + differences.size();
  if (cursor.failed()) return malformed("the columns of {} events do not fit into their chunk", count);
  if (threads_.empty() || shapes_.empty()) return malformed("a chunk without threads or without shapes");

  strides_.fill({});
  last_sequence_ = 0;
  count_ = count;
  return {};
}

Status EventDecoder::read_tables(ByteCursor& cursor, std::uint64_t thread_count, std::uint64_t shape_count) {
  threads_.clear();
  shapes_.clear();
  for (std::uint64_t index = 0; index < thread_count && !cursor.failed(); ++index) {
    threads_.push_back({{}, ThreadId{static_cast<std::uint32_t>(cursor.varint_up_to(kThreadLimit - 1))}});
  }
  for (std::uint64_t index = 0; index < shape_count && !cursor.failed(); ++index) {
    Event event;
    event.kind = EventKind{cursor.fixed<std::uint8_t>()};
    event.detail = cursor.fixed<std::uint8_t>();
    event.depth = static_cast<std::uint16_t>(cursor.varint_up_to(UINT16_MAX));
    event.extent = cursor.varint();
    event.site = SiteId{static_cast<std::uint32_t>(cursor.varint_up_to(UINT32_MAX))};
    if (cursor.failed()) break;
    if (Status status = validate(event); !status) return status;
    shapes_.push_back({event, greatest_object(event.kind, event.extent), object_sort(event.kind)});
  }
  if (cursor.failed()) return malformed("the thread or shape table is damaged");
  return {};
}

// Decodes up to `count` events into batch_ and yields how many are good.
template <unsigned kThreadWidth, unsigned kShapeWidth>
std::size_t EventDecoder::decode_events(std::size_t count) {
  // Copies in locals: the compiler cannot know that storing an event leaves
  // the members alone.
  const std::byte* const threads = thread_column_ + done_;
  const std::byte* const shapes = shape_column_ + done_;
  const std::byte* const codes = code_column_ + done_;
  const std::byte* difference = difference_;
  const std::byte* const difference_end = difference_end_;
  const std::size_t plane = count_;
  ThreadContext* const contexts = threads_.data();
  const Shape* const shape_table = shapes_.data();
  const std::size_t thread_count = threads_.size();
  const std::size_t shape_count = shapes_.size();

  std::size_t index = 0;
  for (; index < count; ++index) {
    const std::uint32_t thread = index_at<kThreadWidth>(threads, index, plane);
    const std::uint32_t shape_index = index_at<kShapeWidth>(shapes, index, plane);
    const auto code = static_cast<std::uint8_t>(codes[index]);
    const std::size_t length = code & kCodeLengthMask;
    if (thread >= thread_count || shape_index >= shape_count || !is_object_code(code) ||
        length > static_cast<std::size_t>(difference_end - difference)) [[unlikely]] {
      break;
    }
    std::uint64_t folded;
    std::memcpy(&folded, difference, sizeof folded);
    difference += length;

    const Shape& shape = shape_table[shape_index];
    ThreadContext& context = contexts[thread];
    std::uint64_t& last = context.last[shape.sort];
    Stride& stride = strides_[stride_slot(thread, shape_index)];
    const std::uint64_t predicted = (code & kCodeStride) != 0 ? stride.last + stride.step : last;
    const std::uint64_t object = predicted + unfold_sign(folded & kByteMasks[length]);
    if (object > shape.greatest_object) [[unlikely]]
      break;
    last = object;
    stride.step = object - stride.last;
    stride.last = object;

    Event& event = batch_[index];
    event = shape.event;
    event.thread = context.thread;
    event.object = object;
  }
  difference_ = difference;
  return index;
}

std::size_t EventDecoder::decode_any(std::size_t count) {
  const unsigned shape_width = index_width(shapes_.size());
  switch (index_width(threads_.size())) {
    case 0:
      return shape_width == 0   ? decode_events<0, 0>(count)
             : shape_width == 1 ? decode_events<0, 1>(count)
                                : decode_events<0, 2>(count);
    case 1:
      return shape_width == 0   ? decode_events<1, 0>(count)
             : shape_width == 1 ? decode_events<1, 1>(count)
                                : decode_events<1, 2>(count);
    default:
      return shape_width == 0   ? decode_events<2, 0>(count)
             : shape_width == 1 ? decode_events<2, 1>(count)
                                : decode_events<2, 2>(count);
  }
}

Error EventDecoder::explain_break(std::size_t index) const {
  return malformed("event {} of {} of the chunk is damaged", index, count_);
}

Status EventDecoder::decode_sequences(std::size_t count) {
  sequence_batch_.clear();
  if (has_sequences_ == Sequences::kAbsent) return {};
  ByteCursor cursor{sequence_column_};
  for (std::size_t index = 0; index < count; ++index) {
    last_sequence_ += unfold_sign(cursor.varint());
    if (cursor.failed()) return malformed("the sequence numbers of the chunk are damaged");
    sequence_batch_.push_back(last_sequence_);
  }
  sequence_column_ = sequence_column_.last(cursor.remaining());
  return {};
}

Result<std::span<const Event>> EventDecoder::next() {
  if (pending_error_) {
    count_ = done_;
    return *std::exchange(pending_error_, std::nullopt);
  }
  const std::size_t wanted = std::min(kBatch, count_ - done_);
  if (wanted == 0) return std::span<const Event>{};
  std::size_t decoded = decode_any(wanted);
  if (decoded < wanted) pending_error_ = explain_break(done_ + decoded);
  if (Status status = decode_sequences(decoded); !status) {
    pending_error_ = status.error();
    decoded = sequence_batch_.size();
  }
  done_ += decoded;
  if (done_ == count_ && (difference_ != difference_end_ || !sequence_column_.empty())) {
    pending_error_ = malformed("bytes are left over behind the events of the chunk");
  }
  if (decoded == 0) return next();
  return std::span<const Event>{batch_.data(), decoded};
}

}  // namespace deadheat
