// SPDX-License-Identifier: Apache-2.0
// RangeMap: a value for each byte of the address space, stored by ranges.
// Assigning overwrites, neighbours with equal values merge. Ranges are given by
// their first and last byte, so that the top of the address space needs no
// special care. Offline only.
#pragma once

#include <iterator>
#include <map>
#include <utility>

#include "model/identity.h"

namespace deadheat {

template <class Value>
class RangeMap {
 public:
  [[nodiscard]] bool empty() const { return ranges_.empty(); }

  void assign(Address first, Address last, Value value) {
    erase(first, last);
    auto next = ranges_.lower_bound(first);
    if (next != ranges_.begin()) {
      auto previous = std::prev(next);
      if (previous->second.last + 1 == first && previous->second.value == value) {
        first = previous->first;
        ranges_.erase(previous);
      }
    }
    if (next != ranges_.end() && next->first == last + 1 && next->second.value == value) {
      last = next->second.last;
      ranges_.erase(next);
    }
    ranges_.emplace(first, Entry{last, std::move(value)});
  }

  void erase(Address first, Address last) {
    auto at = first_touching(first);
    while (at != ranges_.end() && at->first <= last) {
      const Address begin = at->first;
      const Entry entry = at->second;
      at = ranges_.erase(at);
      if (begin < first) ranges_.emplace(begin, Entry{first - 1, entry.value});
      if (entry.last > last) ranges_.emplace(last + 1, entry);
    }
  }

  // The value at this byte, or nullptr.
  [[nodiscard]] const Value* find(Address address) const {
    auto at = first_touching(address);
    return at != ranges_.end() && at->first <= address ? &at->second.value : nullptr;
  }

  // One stored range holds all of [first, last].
  [[nodiscard]] bool covers(Address first, Address last) const {
    auto at = first_touching(first);
    return at != ranges_.end() && at->first <= first && at->second.last >= last;
  }

  // Calls visit(first, last, value) for each stored range, cut to [first, last].
  template <class Visit>
  void for_each(Address first, Address last, Visit&& visit) const {
    for (auto at = first_touching(first); at != ranges_.end() && at->first <= last; ++at) {
      visit(at->first < first ? first : at->first, at->second.last > last ? last : at->second.last, at->second.value);
    }
  }

 private:
  struct Entry {
    Address last = 0;
    Value value;
  };
  using Map = std::map<Address, Entry>;

  [[nodiscard]] typename Map::const_iterator first_touching(Address address) const {
    auto at = ranges_.upper_bound(address);
    if (at != ranges_.begin() && std::prev(at)->second.last >= address) --at;
    return at;
  }

  Map ranges_;  // by first byte
};

// A set of bytes.
struct Present {
  friend bool operator==(Present, Present) = default;
};
using RangeSet = RangeMap<Present>;

}  // namespace deadheat
