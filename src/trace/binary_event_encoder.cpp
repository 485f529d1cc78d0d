// SPDX-License-Identifier: Apache-2.0
#include "trace/binary_event_encoder.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

namespace deadheat {
namespace {

void append_index_planes(Bytes& out, const std::vector<std::uint32_t>& column, unsigned width) {
  for (unsigned plane = 0; plane < width; ++plane) {
    for (const std::uint32_t index : column) out.push_back(static_cast<std::byte>(index >> (8 * plane)));
  }
}

std::uint8_t bytes_needed(std::uint64_t value) { return static_cast<std::uint8_t>((std::bit_width(value) + 7) / 8); }

}  // namespace

std::size_t EventEncoder::ShapeHash::operator()(const Event& shape) const {
  std::uint64_t hash = raw(shape.kind) | (std::uint64_t{shape.detail} << 8U) | (std::uint64_t{shape.depth} << 16U) |
                       (std::uint64_t{raw(shape.site)} << 32U);
  hash = (hash ^ (hash >> 29U)) * 0x9e3779b97f4a7c15ULL;
  hash = (hash ^ shape.extent) * 0xbf58476d1ce4e5b9ULL;
  return hash >> 24U;
}

void EventEncoder::add(const Event& event, std::uint64_t sequence) {
  DEADHEAT_DCHECK(!is_full());
  Event shape = event;
  shape.thread = ThreadId{};
  shape.object = 0;
  thread_column_.push_back(threads_.number_of(event.thread));
  shape_column_.push_back(shapes_.number_of(shape));
  objects_.push_back(event.object);
  if (sequences_ == Sequences::kPresent) {
    append_varint(sequence_column_, fold_sign(sequence - last_sequence_));
    last_sequence_ = sequence;
  }
}

std::vector<std::uint32_t> EventEncoder::shapes_by_frequency() const {
  std::vector<std::uint32_t> frequency(shapes_.keys().size());
  for (const std::uint32_t shape : shape_column_) ++frequency[shape];
  std::vector<std::uint32_t> order(frequency.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](std::uint32_t left, std::uint32_t right) {
    return std::pair{frequency[right], left} < std::pair{frequency[left], right};
  });
  return order;
}

void EventEncoder::append_tables(Bytes& out, const std::vector<std::uint32_t>& order,
                                 std::size_t sequence_bytes) const {
  append_varint(out, threads_.keys().size());
  append_varint(out, order.size());
  append_varint(out, sequence_bytes);
  for (const ThreadId thread : threads_.keys()) append_varint(out, raw(thread));
  for (const std::uint32_t number : order) {
    const Event& shape = shapes_.keys()[number];
    out.push_back(std::byte{raw(shape.kind)});
    out.push_back(std::byte{shape.detail});
    append_varint(out, shape.depth);
    append_varint(out, shape.extent);
    append_varint(out, raw(shape.site));
  }
}

void EventEncoder::renumber_shapes(const std::vector<std::uint32_t>& order) {
  std::vector<std::uint32_t> number_of(order.size());
  for (std::uint32_t number = 0; number < order.size(); ++number) number_of[order[number]] = number;
  for (std::uint32_t& shape : shape_column_) shape = number_of[shape];
}

// Two columns: all code bytes, then all differences.
void EventEncoder::append_objects(Bytes& out) {
  contexts_.assign(threads_.keys().size(), {});
  strides_.fill({});
  Bytes differences;
  differences.reserve(objects_.size() * 4);
  for (std::size_t event = 0; event < objects_.size(); ++event) {
    const std::uint64_t object = objects_[event];
    const std::uint32_t thread = thread_column_[event];
    const std::uint32_t shape = shape_column_[event];
    std::uint64_t& context = contexts_[thread].last[sorts_[shape]];
    Stride& stride = strides_[stride_slot(thread, shape)];

    std::uint64_t difference = fold_sign(object - context);
    std::uint8_t code = bytes_needed(difference);
    const std::uint64_t from_stride = fold_sign(object - (stride.last + stride.step));
    if (bytes_needed(from_stride) < code) {
      difference = from_stride;
      code = bytes_needed(from_stride) | kCodeStride;
    }
    context = object;
    stride = {object, object - stride.last};

    out.push_back(std::byte{code});
    const auto bytes = std::as_bytes(std::span{&difference, 1}).first(code & kCodeLengthMask);
    differences.insert(differences.end(), bytes.begin(), bytes.end());
  }
  out.insert(out.end(), differences.begin(), differences.end());
}

void EventEncoder::encode(Bytes& out) {
  const std::vector<std::uint32_t> order = shapes_by_frequency();
  renumber_shapes(order);
  sorts_.clear();
  for (const std::uint32_t number : order) sorts_.push_back(object_sort(shapes_.keys()[number].kind));

  out.clear();
  append_tables(out, order, sequence_column_.size());
  append_index_planes(out, thread_column_, index_width(threads_.keys().size()));
  append_index_planes(out, shape_column_, index_width(order.size()));
  out.insert(out.end(), sequence_column_.begin(), sequence_column_.end());
  append_objects(out);

  threads_.clear();
  shapes_.clear();
  thread_column_.clear();
  shape_column_.clear();
  objects_.clear();
  sequence_column_.clear();
  last_sequence_ = 0;
}

}  // namespace deadheat
