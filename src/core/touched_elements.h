// SPDX-License-Identifier: Apache-2.0
// TouchedElements: bytes of an array that share a cell, and that one footprint
// touched: what Touched (byte_shadow.h) is for a word.
#pragma once

#include <cstdint>

#include "core/run_partition.h"
#include "model/identity.h"

namespace deadheat {

struct TouchedElements {
  Address array = 0;  // begins here; `bytes` are offsets from it
  PartBytes bytes;
  // The accesses: one for each element, the first at `first_element`.
  Address first_element = 0;
  std::uint64_t step = 0;

  // Where the element begins that this byte belongs to.
  [[nodiscard]] Address element_of(Address byte) const { return byte - (byte - first_element) % step; }
  // Calls visit(first, last) for each run of neighbouring bytes, in order.
  template <class Visit>
  void for_each_run(Visit&& visit) const {
    bytes.for_each_interval([&](std::uint64_t begin, std::uint64_t end) {
      visit(array + begin, array + (end - 1));
      return true;
    });
  }
};

}  // namespace deadheat
