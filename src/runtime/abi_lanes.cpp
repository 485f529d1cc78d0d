// SPDX-License-Identifier: Apache-2.0
// The hook for vector instructions that access some lanes only, or each where an index
// says. The plugin for g++ calls it (pass/gcc/lane_shape.h has the form of `shape`).
#include <cstdint>
#include <cstring>

#include "runtime/on_access.h"

using namespace deadheat;
using namespace deadheat::runtime;

namespace {

// Byte `at` of the shape.
constexpr std::uint64_t part(std::uint64_t shape, unsigned at) { return (shape >> (8 * at)) & 0xff; }

bool lets_through(const unsigned char* mask, std::uint64_t lane_size, std::uint64_t lane) {
  if (lane_size == 0) return ((mask[lane / 8] >> (lane % 8)) & 1) != 0;
  return (mask[lane * lane_size + lane_size - 1] & 0x80) != 0;
}

std::int64_t index_of(const unsigned char* indexes, std::uint64_t size, std::uint64_t lane) {
  if (size == 8) return reinterpret_cast<const std::int64_t*>(indexes)[lane];
  return reinterpret_cast<const std::int32_t*>(indexes)[lane];
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void __deadheat_lanes(unsigned char* base,
                                                                        const unsigned char* indexes,
                                                                        const unsigned char* mask,
                                                                        std::uint64_t shape) {
  const auto code = reinterpret_cast<Address>(__builtin_return_address(0));
  const std::uint64_t size = part(shape, 1);
  const bool writes = (part(shape, 5) & 1) != 0;
  const bool is_packed = (part(shape, 5) & 2) != 0;
  std::uint64_t passed = 0;
  for (std::uint64_t lane = 0; lane < part(shape, 0); ++lane) {
    if (!lets_through(mask, part(shape, 4), lane)) continue;
    std::int64_t distance = static_cast<std::int64_t>((is_packed ? passed : lane) * size);
    if (part(shape, 2) != 0)
      distance = index_of(indexes, part(shape, 2), lane) * static_cast<std::int64_t>(part(shape, 3));
    ++passed;
    if (writes) {
      on_write(base + distance, size, code);
    } else {
      on_read(base + distance, size, code);
    }
  }
}
