// SPDX-License-Identifier: Apache-2.0
// RaceVariants: of the races between two places in the code, which ones are told.
//
// Problem: two variables can race through one function, and are two races. A pair of places says
// nothing of the variable, and detectors know no names. To tell each address would flood the
// report with the elements of an array.
// Method: a variant is a stretch of memory together with the calls that lead to both places.
//   Objects    Whoever knows the block of an address says so by a number (where it was
//              allocated); addresses with one number are one object.
//   Addresses  Without a number each word is an object, until the same calls have led to
//              kMostNeighbours of them that lie close together: then they are an array, and what these
//              calls touch beside them belongs to it.
//   Calls      One object is told for kMostCalls different ways to get there, because two
//              unnamed objects may differ by nothing else.
// Reports decide by names which variants are one race.
// Cost: a walk over at most kMostVariants entries per occurrence, the latest one first.
#pragma once

#include <cstdint>

#include "base/growable_array.h"
#include "model/identity.h"

namespace deadheat {

// The memory that an occurrence touched, and by which calls (any number that differs with them).
struct RaceOccurrence {
  Address begin = 0;
  Address end = 0;
  std::uint64_t object = 0;  // 0: nobody knows
  std::uint64_t calls = 0;
};

// Value is what the owner keeps of a variant.
template <class Value, class Source = HeapSource>
class RaceVariants {
 public:
  static constexpr std::uint32_t kMostVariants = 128;
  static constexpr std::uint32_t kMostNeighbours = 8;
  static constexpr std::uint32_t kMostCalls = 8;
  static constexpr std::uint64_t kNear = 256;  // bytes

  struct Found {
    Value* value = nullptr;  // valid until the next search; null: there is none, and none can be made
    bool is_new = false;
    bool is_new_object = false;
  };

  // The variant whose bytes and calls are these, whatever the object; null if there is none.
  [[nodiscard]] Value* find(Address address, std::uint64_t calls) {
    if (latest_ < variants_.size() && has(variants_[latest_], address, calls)) return &variants_[latest_].value;
    for (std::uint32_t at = 0; at < variants_.size(); ++at) {
      if (!has(variants_[at], address, calls)) continue;
      latest_ = at;
      return &variants_[at].value;
    }
    return nullptr;
  }

  // The variant of the occurrence, made if it is one to be told.
  Found meet(const RaceOccurrence& seen) {
    std::uint32_t same = 0;    // of this object, with other calls
    std::uint32_t others = 0;  // close to it, with these calls
    std::uint32_t nearest = 0;
    bool is_in_array = false;
    for (std::uint32_t at = 0; at < variants_.size(); ++at) {
      Variant& one = variants_[at];
      const bool is_same = seen.object != 0 ? one.object == seen.object : one.object == 0 && overlaps(one, seen, 0);
      if (is_same && one.calls == seen.calls) {
        if (seen.object != 0) {
          one.begin = seen.begin;
          one.end = seen.end;
        }
        return known(at);
      }
      if (is_same) {
        ++same;
        nearest = at;
      } else if (seen.object == 0 && one.object == 0 && one.calls == seen.calls && overlaps(one, seen, kNear)) {
        ++others;
        is_in_array = is_in_array || one.is_array;
        if (same == 0 && (!is_in_array || one.is_array)) nearest = at;
      }
    }
    if (same >= kMostCalls || variants_.size() >= kMostVariants) return known(nearest);
    if (same == 0 && (is_in_array || others >= kMostNeighbours)) {
      Variant& array = variants_[nearest];
      array.is_array = true;
      if (seen.begin < array.begin) array.begin = seen.begin;
      if (seen.end > array.end) array.end = seen.end;
      return known(nearest);
    }
    latest_ = variants_.size();
    Variant& made = variants_.push_back({seen.begin, seen.end, seen.object, seen.calls, false, Value{}});
    return {&made.value, true, same == 0};
  }

  // The latest occurrence goes on to there.
  void extend_latest(Address end) {
    if (latest_ < variants_.size() && end > variants_[latest_].end) variants_[latest_].end = end;
  }

  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const Variant& one : variants_) visit(one.value);
  }

 private:
  struct Variant {
    Address begin = 0;
    Address end = 0;
    std::uint64_t object = 0;
    std::uint64_t calls = 0;
    bool is_array = false;
    Value value{};
  };

  static bool has(const Variant& one, Address address, std::uint64_t calls) {
    return address >= one.begin && address < one.end && one.calls == calls;
  }
  static bool overlaps(const Variant& one, const RaceOccurrence& seen, std::uint64_t slack) {
    return seen.begin < one.end + slack && one.begin < seen.end + slack;
  }
  Found known(std::uint32_t at) {
    latest_ = at;
    return {&variants_[at].value, false, false};
  }

  GrowableArray<Variant, Source> variants_;
  std::uint32_t latest_ = 0;
};

}  // namespace deadheat
