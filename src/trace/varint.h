// SPDX-License-Identifier: Apache-2.0
// Numbers of variable length, as the binary trace format stores them outside
// its hot columns: seven bits per byte, least significant first, the top bit
// set on every byte but the last (LEB128). A signed difference is folded so
// that small magnitudes of either sign stay short (zigzag).
//
// ByteCursor reads untrusted bytes: it never moves past its end, and once a
// read has failed every later read yields zeros and failed() stays true, so
// that a decoder may read a whole record and look once.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace deadheat {

static_assert(std::endian::native == std::endian::little, "fixed-width fields are copied as they lie in memory");

using Bytes = std::vector<std::byte>;

inline constexpr int kLongestVarint = 10;

[[nodiscard]] constexpr std::uint64_t fold_sign(std::uint64_t difference) {
  return (difference << 1U) ^ (std::uint64_t{0} - (difference >> 63U));
}
[[nodiscard]] constexpr std::uint64_t unfold_sign(std::uint64_t folded) {
  return (folded >> 1U) ^ (std::uint64_t{0} - (folded & 1U));
}

inline void append_varint(Bytes& out, std::uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<std::byte>(value | 0x80U));
    value >>= 7U;
  }
  out.push_back(static_cast<std::byte>(value));
}

// A string is its length as a varint, then its bytes.
inline void append_string(Bytes& out, std::string_view text) {
  append_varint(out, text.size());
  const auto bytes = std::as_bytes(std::span{text.data(), text.size()});
  out.insert(out.end(), bytes.begin(), bytes.end());
}

template <class Integer>
void append_fixed(Bytes& out, Integer value) {
  const std::size_t at = out.size();
  out.resize(at + sizeof value);
  std::memcpy(out.data() + at, &value, sizeof value);
}

class ByteCursor {
 public:
  explicit ByteCursor(std::span<const std::byte> bytes) : rest_(bytes) {}

  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] std::size_t remaining() const { return rest_.size(); }

  // Exactly `count` bytes, or none and failure.
  std::span<const std::byte> take(std::uint64_t count) {
    if (count > rest_.size()) return fail();
    const auto taken = rest_.first(static_cast<std::size_t>(count));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }

  template <class Integer>
  Integer fixed() {
    Integer value{};
    const auto bytes = take(sizeof value);
    if (!failed_) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }

  // Fails at the end of the bytes and on anything beyond 64 bits.
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int index = 0; index < kLongestVarint && !rest_.empty(); ++index) {
      const auto byte = static_cast<std::uint64_t>(rest_.front());
      rest_ = rest_.subspan(1);
      if (index == kLongestVarint - 1 && byte > 1) break;
      value |= (byte & 0x7fU) << static_cast<unsigned>(7 * index);
      if (byte < 0x80) return value;
    }
    fail();
    return 0;
  }

  // As varint(), and fails on values above `greatest`.
  std::uint64_t varint_up_to(std::uint64_t greatest) {
    const std::uint64_t value = varint();
    if (value <= greatest) return value;
    fail();
    return 0;
  }

  std::string string(std::uint64_t longest) {
    const auto bytes = take(varint_up_to(longest));
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

 private:
  std::span<const std::byte> fail() {
    failed_ = true;
    rest_ = {};
    return {};
  }

  std::span<const std::byte> rest_;
  bool failed_ = false;
};

}  // namespace deadheat
