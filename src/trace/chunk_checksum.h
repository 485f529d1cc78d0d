// SPDX-License-Identifier: Apache-2.0
// The checksum of headers and chunks: XXH64 with seed 0. It runs at several
// bytes per cycle, has public implementations in every language, and detects
// accidental damage (a flipped bit, a lost page) with a chance of 2^-64 to
// miss. It does not protect against someone who changes a file on purpose.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace deadheat {

[[nodiscard]] std::uint64_t xxh64(std::span<const std::byte> bytes);

}  // namespace deadheat
