// SPDX-License-Identifier: Apache-2.0
// FlatMap: 64-bit keys to small values, open addressing with linear probing.
//
// The shadow of an offline run is one lookup per access, and the clocks of
// locks and atomics one per synchronisation; std::unordered_map spends a cache
// miss per node on each. Here a lookup usually touches one line. Removal shifts
// the following entries back, so there are no tombstones and lookups never
// degrade. Pointers to values are valid until the next insertion or removal.
#pragma once

#include <cstdint>
#include <utility>

#include "base/growable_array.h"

namespace deadheat {

// A bijection on 64 bits that spreads the low-entropy keys we have (addresses,
// small numbers) over the upper bits.
[[nodiscard]] constexpr std::uint64_t spread(std::uint64_t key) {
  key *= 0x9e3779b97f4a7c15ULL;
  return key ^ (key >> 32);
}

template <class Value, class Source = HeapSource>
class FlatMap {
 public:
  [[nodiscard]] std::uint32_t size() const { return count_; }
  [[nodiscard]] bool empty() const { return count_ == 0; }

  // nullptr when absent.
  [[nodiscard]] Value* find(std::uint64_t key) {
    if (count_ == 0) return nullptr;
    for (std::uint32_t at = home(key);; at = (at + 1) & mask()) {
      Entry& entry = entries_[at];
      if (!entry.used) return nullptr;
      if (entry.key == key) return &entry.value;
    }
  }
  [[nodiscard]] const Value* find(std::uint64_t key) const { return const_cast<FlatMap*>(this)->find(key); }

  // The value of the key, made as Value{} if it was absent.
  Value& operator[](std::uint64_t key) {
    if (Value* found = find(key)) return *found;
    if ((count_ + 1) * 2 > entries_.size()) grow();
    ++count_;
    return place(key, Value{});
  }

  // Does nothing when absent.
  void erase(std::uint64_t key) {
    Value* found = find(key);
    if (found == nullptr) return;
    std::uint32_t hole = home(key);
    while (&entries_[hole].value != found) hole = (hole + 1) & mask();
    for (std::uint32_t at = (hole + 1) & mask(); entries_[at].used; at = (at + 1) & mask()) {
      // An entry may move back into the hole unless its home lies after it.
      const std::uint32_t distance = (at - home(entries_[at].key)) & mask();
      if (distance < ((at - hole) & mask())) continue;
      entries_[hole] = std::move(entries_[at]);
      hole = at;
    }
    entries_[hole] = Entry{};
    --count_;
  }

  void clear() {
    entries_.reset();
    count_ = 0;
  }

  // Calls visit(key, value) for each entry, in no particular order. The map
  // must not change meanwhile.
  template <class Visit>
  void for_each(Visit&& visit) {
    for (Entry& entry : entries_) {
      if (entry.used) visit(entry.key, entry.value);
    }
  }

  // Asks the cache for the line where a lookup of the key begins.
  void prefetch(std::uint64_t key) const {
    if (count_ != 0) __builtin_prefetch(&entries_[home(key)]);
  }

 private:
  struct Entry {
    std::uint64_t key = 0;
    Value value{};
    bool used = false;
  };

  [[nodiscard]] std::uint32_t mask() const { return entries_.size() - 1; }
  [[nodiscard]] std::uint32_t home(std::uint64_t key) const {
    return static_cast<std::uint32_t>(spread(key) >> 20) & mask();
  }

  // The key is absent and there is room.
  Value& place(std::uint64_t key, Value value) {
    std::uint32_t at = home(key);
    while (entries_[at].used) at = (at + 1) & mask();
    entries_[at].key = key;
    entries_[at].value = std::move(value);
    entries_[at].used = true;
    return entries_[at].value;
  }

  void grow() {
    GrowableArray<Entry, Source> old = std::move(entries_);
    entries_ = GrowableArray<Entry, Source>{};
    entries_.resize(old.empty() ? 16 : old.size() * 2);
    for (Entry& entry : old) {
      if (entry.used) place(entry.key, std::move(entry.value));
    }
  }

  GrowableArray<Entry, Source> entries_;  // size 0 or a power of two
  std::uint32_t count_ = 0;
};

}  // namespace deadheat
