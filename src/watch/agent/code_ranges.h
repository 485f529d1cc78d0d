// SPDX-License-Identifier: Apache-2.0
// Where the process has code, and from which files: for checking return addresses and for
// telling the command line what is loaded.
#pragma once

#include <atomic>
#include <cstdint>

#include "model/identity.h"

namespace deadheat::watch {

class CodeRanges {
 public:
  // By one thread at a time: adds what is new in /proc/self/maps. What was unmapped stays:
  // it only makes has() less strict. Returns whether there was anything new.
  bool refresh();

  // Any thread, any time.
  [[nodiscard]] bool has(Address code) const {
    const std::uint32_t count = count_.load(std::memory_order_acquire);  // pairs with refresh()
    for (std::uint32_t at = 0; at < count; ++at) {
      if (code - ranges_[at].begin < ranges_[at].end - ranges_[at].begin) return true;
    }
    return false;
  }

 private:
  struct Range {
    Address begin;
    Address end;
  };
  static constexpr std::uint32_t kMostRanges = 512;
  Range ranges_[kMostRanges] = {};
  std::atomic<std::uint32_t> count_{0};
};

extern CodeRanges code_ranges;

}  // namespace deadheat::watch
