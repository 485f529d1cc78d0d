// SPDX-License-Identifier: Apache-2.0
// EventEncoder gathers the events of one chunk and lays them out in columns
// (binary_event_columns.h, FORMAT.md). Shapes are numbered by falling
// frequency, which keeps the second byte of most shape indices zero. Costs some
// tens of nanoseconds per event, most of it two hash lookups.
#pragma once

#include <cstdint>
#include <vector>

#include "base/check.h"
#include "model/event.h"
#include "trace/binary_event_columns.h"
#include "trace/chunk_header.h"
#include "trace/varint.h"

namespace deadheat {

// Numbers distinct keys in the order of their first appearance: an open hash
// table of indices into the list of keys.
template <class Key, class Hash>
class KeyNumbering {
 public:
  std::uint32_t number_of(const Key& key) {
    if (keys_.size() * 2 >= slots_.size()) grow();
    std::uint32_t& slot = find(key);
    if (slot == kEmpty) {
      slot = static_cast<std::uint32_t>(keys_.size());
      keys_.push_back(key);
    }
    return slot;
  }
  [[nodiscard]] const std::vector<Key>& keys() const { return keys_; }
  void clear() {
    keys_.clear();
    slots_.assign(kFewest, kEmpty);
  }

 private:
  static constexpr std::uint32_t kEmpty = UINT32_MAX;
  static constexpr std::size_t kFewest = 64;

  std::uint32_t& find(const Key& key) {
    std::size_t at = Hash{}(key) & (slots_.size() - 1);
    while (slots_[at] != kEmpty && !(keys_[slots_[at]] == key)) at = (at + 1) & (slots_.size() - 1);
    return slots_[at];
  }
  void grow() {
    slots_.assign(slots_.size() * 2, kEmpty);
    for (std::uint32_t number = 0; number < keys_.size(); ++number) find(keys_[number]) = number;
  }

  std::vector<Key> keys_;
  std::vector<std::uint32_t> slots_ = std::vector<std::uint32_t>(kFewest, kEmpty);
};

class EventEncoder {
 public:
  explicit EventEncoder(Sequences sequences) : sequences_(sequences) {}

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(objects_.size()); }
  [[nodiscard]] bool is_full() const { return size() == kMostChunkEvents; }

  // Requires a valid event and !is_full(). The sequence number is dropped when
  // the trace has none.
  void add(const Event& event, std::uint64_t sequence);

  // Replaces `out` by the payload of the events gathered so far and starts an
  // empty chunk.
  void encode(Bytes& out);

 private:
  struct ThreadHash {
    std::size_t operator()(ThreadId thread) const { return raw(thread) * 0x9e3779b97f4a7c15ULL >> 20U; }
  };
  struct ShapeHash {
    std::size_t operator()(const Event& shape) const;
  };

  void append_tables(Bytes& out, const std::vector<std::uint32_t>& order, std::size_t sequence_bytes) const;
  void renumber_shapes(const std::vector<std::uint32_t>& order);
  void append_objects(Bytes& out);
  [[nodiscard]] std::vector<std::uint32_t> shapes_by_frequency() const;

  Sequences sequences_;
  KeyNumbering<ThreadId, ThreadHash> threads_;
  KeyNumbering<Event, ShapeHash> shapes_;  // events with thread and object 0

  // One entry per event.
  std::vector<std::uint32_t> thread_column_;
  std::vector<std::uint32_t> shape_column_;
  std::vector<std::uint64_t> objects_;

  std::vector<std::uint32_t> sorts_;  // by shape, while encoding

  Bytes sequence_column_;
  std::uint64_t last_sequence_ = 0;
  std::vector<ThreadContext> contexts_;
  StrideTable strides_{};
};

}  // namespace deadheat
