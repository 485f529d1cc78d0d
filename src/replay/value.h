// SPDX-License-Identifier: Apache-2.0
// Value: up to eight bytes of which each is known or not.
//
// A byte that is not known is zero in `bits`, so that two values are equal exactly when they say
// the same. Every operation here is sound: whatever the unknown bytes of its inputs
// are, the known bytes of its result are right.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>

namespace deadheat::replay {

// One bit per byte -> eight bits per byte.
[[nodiscard]] constexpr std::uint64_t spread(std::uint8_t known) {
  // Copy the byte into all, keep bit i in byte i, and fill bytes that are not zero.
  std::uint64_t bits = known * 0x0101010101010101ULL & 0x8040201008040201ULL;
  bits = (((bits & 0x7f7f7f7f7f7f7f7fULL) + 0x7f7f7f7f7f7f7f7fULL) | bits) & 0x8080808080808080ULL;
  return (bits >> 7) * 0xffU;
}

// The bytes of which all bits are set.
[[nodiscard]] constexpr std::uint8_t gather(std::uint64_t bits) {
  std::uint8_t known = 0;
  for (int byte = 0; byte < 8; ++byte) {
    if ((bits >> (8 * byte) & 0xff) == 0xff) known = static_cast<std::uint8_t>(known | 1U << byte);
  }
  return known;
}

[[nodiscard]] constexpr std::uint8_t bytes_mask(unsigned size) {
  return size >= 8 ? std::uint8_t{0xff} : static_cast<std::uint8_t>((1U << size) - 1);
}

[[nodiscard]] constexpr std::uint64_t bits_mask(unsigned size) { return size >= 8 ? ~0ULL : (1ULL << (8 * size)) - 1; }

struct Value {
  std::uint64_t bits = 0;
  std::uint8_t known = 0;
  bool is_from_memory = false;  // emulated memory had a part in it

  [[nodiscard]] static constexpr Value of(std::uint64_t bits) { return {bits, 0xff, false}; }
  [[nodiscard]] constexpr bool is_known(unsigned size = 8) const {
    return (known & bytes_mask(size)) == bytes_mask(size);
  }
  // How many bytes are known from the lowest on.
  [[nodiscard]] constexpr unsigned known_prefix() const { return static_cast<unsigned>(std::countr_one(known)); }
  // The lowest bytes; those above are known to be zero.
  [[nodiscard]] constexpr Value low(unsigned size) const {
    return {bits & bits_mask(size), static_cast<std::uint8_t>(known | ~bytes_mask(size)), is_from_memory};
  }
  friend constexpr bool operator==(const Value&, const Value&) = default;
};

// Of bits and the bits that are known; a byte counts only whole.
[[nodiscard]] constexpr Value from_known_bits(std::uint64_t bits, std::uint64_t known_bits, bool is_from_memory) {
  const std::uint8_t known = gather(known_bits);
  return {bits & spread(known), known, is_from_memory};
}

[[nodiscard]] constexpr Value bit_and(const Value& a, const Value& b) {
  const std::uint64_t ka = spread(a.known);
  const std::uint64_t kb = spread(b.known);
  const std::uint64_t known = (ka & kb) | (ka & ~a.bits) | (kb & ~b.bits);
  return from_known_bits(a.bits & b.bits, known, a.is_from_memory || b.is_from_memory);
}

[[nodiscard]] constexpr Value bit_or(const Value& a, const Value& b) {
  const std::uint64_t ka = spread(a.known);
  const std::uint64_t kb = spread(b.known);
  const std::uint64_t known = (ka & kb) | a.bits | b.bits;
  return from_known_bits(a.bits | b.bits, known, a.is_from_memory || b.is_from_memory);
}

[[nodiscard]] constexpr Value bit_xor(const Value& a, const Value& b) {
  const auto known = static_cast<std::uint8_t>(a.known & b.known);
  return {(a.bits ^ b.bits) & spread(known), known, a.is_from_memory || b.is_from_memory};
}

[[nodiscard]] constexpr Value bit_not(const Value& a) { return {~a.bits & spread(a.known), a.known, a.is_from_memory}; }

// a + b + carry: known from the lowest byte up to the first that is not known in both.
[[nodiscard]] constexpr Value sum(const Value& a, const Value& b, std::optional<bool> carry = false) {
  const unsigned prefix = carry ? std::min(a.known_prefix(), b.known_prefix()) : 0;
  const std::uint64_t bits = a.bits + b.bits + (carry.value_or(false) ? 1 : 0);
  return {bits & bits_mask(prefix), bytes_mask(prefix), a.is_from_memory || b.is_from_memory};
}

// a - b - borrow.
[[nodiscard]] constexpr Value difference(const Value& a, const Value& b, std::optional<bool> borrow = false) {
  const unsigned prefix = borrow ? std::min(a.known_prefix(), b.known_prefix()) : 0;
  const std::uint64_t bits = a.bits - b.bits - (borrow.value_or(false) ? 1 : 0);
  return {bits & bits_mask(prefix), bytes_mask(prefix), a.is_from_memory || b.is_from_memory};
}

[[nodiscard]] constexpr Value product(const Value& a, const Value& b) {
  const unsigned prefix = std::min(a.known_prefix(), b.known_prefix());
  return {a.bits * b.bits & bits_mask(prefix), bytes_mask(prefix), a.is_from_memory || b.is_from_memory};
}

// The lowest `size` bytes as a signed number, in eight.
[[nodiscard]] constexpr Value sign_extended(const Value& a, unsigned size) {
  if (size >= 8) return a;
  const Value low = a.low(size);
  const bool has_sign = (low.known >> (size - 1) & 1) != 0;
  Value result{low.bits, static_cast<std::uint8_t>(low.known & bytes_mask(size)), a.is_from_memory};
  if (!has_sign) return result;
  result.known = static_cast<std::uint8_t>(result.known | ~bytes_mask(size));
  if ((low.bits >> (8 * size - 1) & 1) != 0) result.bits |= ~bits_mask(size);
  return result;
}

// What both say, where they say the same.
[[nodiscard]] constexpr Value common(const Value& a, const Value& b) {
  const std::uint64_t equal = spread(a.known) & spread(b.known) & ~(a.bits ^ b.bits);
  return from_known_bits(a.bits, equal, a.is_from_memory || b.is_from_memory);
}

}  // namespace deadheat::replay
