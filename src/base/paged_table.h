// SPDX-License-Identifier: Apache-2.0
// PagedTable: an array indexed by small numbers of which only some are used. Two
// loads per lookup, memory by pages of 1,024 entries: one entry with a large
// index does not cost an array up to there. Entries do not move.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace deadheat {

template <class T>
class PagedTable {
 public:
  // The entry, made as T{} if it was not there.
  [[nodiscard]] T& operator[](std::uint32_t index) {
    const std::uint32_t page = index / kPageEntries;
    if (page >= pages_.size()) [[unlikely]]
      pages_.resize(page + 1);
    if (pages_[page] == nullptr) [[unlikely]]
      pages_[page] = std::make_unique<T[]>(kPageEntries);
    return pages_[page][index % kPageEntries];
  }

  // Calls visit(entry) for every entry of the pages in use, also those that
  // nobody asked for.
  template <class Visit>
  void for_each(Visit&& visit) {
    for (const std::unique_ptr<T[]>& page : pages_) {
      if (page == nullptr) continue;
      for (std::uint32_t index = 0; index < kPageEntries; ++index) visit(page[index]);
    }
  }

 private:
  static constexpr std::uint32_t kPageEntries = 1024;
  std::vector<std::unique_ptr<T[]>> pages_;
};

}  // namespace deadheat
