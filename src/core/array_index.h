// SPDX-License-Identifier: Apache-2.0
// ArrayIndex: which array an address lies in, one or two loads away.
//
// Arrays are numbered by their owner. The truth is a map of ranges; in front of
// it stands a table by chunks of 64 KiB. A chunk inside one array says so; others
// have a number for every 16 bytes, the alignment of allocators. Memory: a
// quarter of what small arrays take, next to nothing for large ones.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "base/flat_map.h"
#include "core/range_map.h"
#include "model/identity.h"

namespace deadheat {

enum class ArrayNumber : std::uint32_t { kNone = 0 };

class ArrayIndex {
 public:
  static constexpr std::uint64_t kGranule = 16;

  // The one array that has bytes in the 16 bytes around this one, kNone if there
  // is none. If there are several, the one of this very byte.
  [[nodiscard]] ArrayNumber near(Address address) {
    const Address number = address / kChunk;
    if (number != recent_number_ || recent_ == nullptr) {
      const std::unique_ptr<Chunk>* chunk = chunks_.find(number);
      if (chunk == nullptr) return ArrayNumber::kNone;
      recent_number_ = number;
      recent_ = chunk->get();
    }
    if (recent_->granules == nullptr) return recent_->whole;
    const ArrayNumber found = recent_->granules[address % kChunk / kGranule];
    return found == kSeveral ? at(address) : found;
  }

  // Calls visit(first, last, array) for what of [first, last] lies in arrays.
  template <class Visit>
  void for_each(Address first, Address last, Visit&& visit) const {
    ranges_.for_each(first, last, visit);
  }

  void assign(Address first, Address last, ArrayNumber array) {
    ranges_.assign(first, last, array);
    update(first, last, array);
  }
  // [first, last] lies in no array any more; it was all of one array's.
  void erase(Address first, Address last) {
    ranges_.erase(first, last);
    update(first, last, ArrayNumber::kNone);
  }

 private:
  static constexpr std::uint64_t kChunk = 1U << 16;
  static constexpr ArrayNumber kSeveral{~0U};

  struct Chunk {
    ArrayNumber whole{};                      // while there are no granules
    std::unique_ptr<ArrayNumber[]> granules;  // may be kSeveral
  };

  [[nodiscard]] ArrayNumber at(Address address) const {
    const ArrayNumber* found = ranges_.find(address);
    return found == nullptr ? ArrayNumber::kNone : *found;
  }

  void update(Address first, Address last, ArrayNumber array) {
    for (Address number = first / kChunk; number <= last / kChunk; ++number) {
      const Address chunk_first = number * kChunk;
      const Address chunk_last = chunk_first + (kChunk - 1);
      if (first <= chunk_first && last >= chunk_last) {
        fill(number, array);
      } else {
        update_granules(number, std::max(first, chunk_first), std::min(last, chunk_last), array);
      }
    }
  }

  void fill(Address number, ArrayNumber array) {
    if (array == ArrayNumber::kNone) {
      if (recent_number_ == number) recent_ = nullptr;
      return chunks_.erase(number);
    }
    Chunk& chunk = chunk_at(number);
    chunk.whole = array;
    chunk.granules.reset();
  }

  void update_granules(Address number, Address first, Address last, ArrayNumber array) {
    Chunk& chunk = chunk_at(number);
    if (chunk.granules == nullptr) {
      chunk.granules = std::make_unique<ArrayNumber[]>(kChunk / kGranule);
      std::fill_n(chunk.granules.get(), kChunk / kGranule, chunk.whole);
    }
    for (Address at = first - first % kGranule; at <= last; at += kGranule) {
      const Address at_last = at + (kGranule - 1);
      ArrayNumber& granule = chunk.granules[at % kChunk / kGranule];
      granule = first <= at && last >= at_last ? array : summary(at, at_last);
      if (at_last == ~Address{0}) return;
    }
  }

  [[nodiscard]] ArrayNumber summary(Address first, Address last) const {
    ArrayNumber result = ArrayNumber::kNone;
    ranges_.for_each(first, last, [&](Address, Address, ArrayNumber array) {
      result = result == ArrayNumber::kNone || result == array ? array : kSeveral;
    });
    return result;
  }

  Chunk& chunk_at(Address number) {
    std::unique_ptr<Chunk>& chunk = chunks_[number];
    if (chunk == nullptr) chunk = std::make_unique<Chunk>();
    return *chunk;
  }

  RangeMap<ArrayNumber> ranges_;
  FlatMap<std::unique_ptr<Chunk>> chunks_;  // by address / kChunk
  Address recent_number_ = 0;
  Chunk* recent_ = nullptr;
};

}  // namespace deadheat
