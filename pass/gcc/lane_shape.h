// SPDX-License-Identifier: Apache-2.0
// The shape of a vector access as __deadheat_lanes (src/runtime/abi_lanes.cpp) is told it, in one number.
#pragma once

#include <cstdint>

namespace deadheat::gcc_pass {

struct LaneShape {
  static constexpr unsigned kMaskOfBits = 0;

  unsigned count = 0;       // lanes
  unsigned size = 0;        // bytes of an element
  unsigned index_size = 0;  // bytes of an index; 0: the elements follow each other
  unsigned scale = 0;       // bytes for each step of the index
  unsigned mask_size = 0;   // bytes of a lane of the mask, whose highest bit counts; kMaskOfBits: a number, a bit each
  bool writes = false;
  bool is_packed = false;  // those that the mask lets through follow each other

  [[nodiscard]] constexpr std::uint64_t number() const {
    return count | std::uint64_t{size} << 8 | std::uint64_t{index_size} << 16 | std::uint64_t{scale} << 24 |
           std::uint64_t{mask_size} << 32 | std::uint64_t{writes} << 40 | std::uint64_t{is_packed} << 41;
  }
};

}  // namespace deadheat::gcc_pass
