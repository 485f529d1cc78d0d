// SPDX-License-Identifier: Apache-2.0
#include "trace/varint.h"

#include <gtest/gtest.h>

namespace deadheat {
namespace {

TEST(VarintTest, ValuesAtEveryLengthBoundaryRoundTrip) {
  std::vector<std::uint64_t> values = {0, UINT64_MAX};
  for (unsigned bits = 1; bits < 64; ++bits) {
    values.push_back((1ULL << bits) - 1);
    values.push_back(1ULL << bits);
  }
  Bytes bytes;
  for (const std::uint64_t value : values) append_varint(bytes, value);
  ByteCursor cursor{bytes};
  for (const std::uint64_t value : values) EXPECT_EQ(cursor.varint(), value);
  EXPECT_FALSE(cursor.failed());
  EXPECT_EQ(cursor.remaining(), 0U);
}

TEST(VarintTest, SevenBitsTakeOneByteAndSixtyFourTakeTen) {
  Bytes bytes;
  append_varint(bytes, 127);
  EXPECT_EQ(bytes.size(), 1U);
  append_varint(bytes, UINT64_MAX);
  EXPECT_EQ(bytes.size(), 11U);
}

TEST(VarintTest, CutOffNumberFails) {
  const Bytes bytes = {std::byte{0x80}, std::byte{0x80}};
  ByteCursor cursor{bytes};
  EXPECT_EQ(cursor.varint(), 0U);
  EXPECT_TRUE(cursor.failed());
}

TEST(VarintTest, NumberBeyondSixtyFourBitsFails) {
  Bytes bytes(9, std::byte{0xff});
  bytes.push_back(std::byte{0x02});
  ByteCursor cursor{bytes};
  EXPECT_EQ(cursor.varint(), 0U);
  EXPECT_TRUE(cursor.failed());
}

TEST(VarintTest, FailureSticksAndYieldsZeros) {
  const Bytes bytes = {std::byte{5}, std::byte{6}};
  ByteCursor cursor{bytes};
  EXPECT_EQ(cursor.fixed<std::uint32_t>(), 0U);
  EXPECT_TRUE(cursor.failed());
  EXPECT_EQ(cursor.fixed<std::uint8_t>(), 0U);
  EXPECT_EQ(cursor.string(10), "");
}

TEST(VarintTest, StringLongerThanAllowedFails) {
  Bytes bytes;
  append_string(bytes, "four");
  EXPECT_EQ(ByteCursor{bytes}.string(4), "four");
  ByteCursor cursor{bytes};
  cursor.string(3);
  EXPECT_TRUE(cursor.failed());
}

TEST(VarintTest, FoldingKeepsSmallMagnitudesSmall) {
  EXPECT_EQ(fold_sign(0), 0U);
  EXPECT_EQ(fold_sign(static_cast<std::uint64_t>(-1)), 1U);
  EXPECT_EQ(fold_sign(1), 2U);
  for (const std::uint64_t value : {0ULL, 1ULL, ~0ULL, 1ULL << 63U, (1ULL << 63U) - 1}) {
    EXPECT_EQ(unfold_sign(fold_sign(value)), value);
  }
}

}  // namespace
}  // namespace deadheat
