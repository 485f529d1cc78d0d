// SPDX-License-Identifier: Apache-2.0
#include "runtime/origins.h"

#include <gtest/gtest.h>

#include <array>

#include "base/random.h"
#include "runtime/stand_in.h"

namespace deadheat::runtime {
namespace {

class OriginsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!start_stand_in()) GTEST_SKIP() << "no room for the shadow in this process";
  }
  static OriginId origin_at(Address code) { return origin_of(*current.state, code_and_shape(code, AccessShape{4, 0})); }
};

TEST_F(OriginsTest, RememberTheCodeAndTheShape) {
  const OriginId origin = origin_of(*current.state, code_and_shape(0x7f1234567890, AccessShape{3, kOriginFree}));
  const OriginDetails details = details_of(origin);
  EXPECT_EQ(details.code, 0x7f1234567890U);
  EXPECT_EQ(details.shape.size_code, 3);
  EXPECT_EQ(details.shape.flags, kOriginFree);
}

TEST_F(OriginsTest, SamePlaceHasTheSameNumber) {
  const OriginId one = origin_at(0x1000);
  EXPECT_EQ(origin_at(0x1000), one);
  EXPECT_NE(origin_at(0x1004), one);
}

// More places than the cache of a thread holds.
TEST_F(OriginsTest, CacheNeverMixesPlacesUp) {
  for (int round = 0; round < 3; ++round) {
    for (Address code = 0x10000; code < 0x10000 + 5000 * 8; code += 8) {
      ASSERT_EQ(details_of(origin_at(code)).code, code) << "round " << round;
    }
  }
}

// Also when more places ask for their stack than the cache holds.
TEST_F(OriginsTest, StacksDependOnTheCallsAndThePlaceAlone) {
  for (int round = 0; round < 2; ++round) {
    for (Address code = 0x40000; code < 0x40000 + 1000 * 4; code += 4) {
      Address calls[4] = {};
      const std::uint32_t stack = current_stack(*current.state, code);
      EXPECT_EQ(cached_stack(code), stack);
      ASSERT_EQ(copy_stack(stack, calls, 4), 1U);
      ASSERT_EQ(calls[0], code);
    }
    ASSERT_TRUE(push_frame(0x5000));
    Address calls[4] = {};
    ASSERT_EQ(copy_stack(current_stack(*current.state, 0x40000), calls, 4), 2U);
    EXPECT_EQ(calls[0], 0x40000U);
    EXPECT_EQ(calls[1], 0x5000U);
    pop_frame();
  }
}

TEST_F(OriginsTest, EachByteOfACombinationHasItsOwn) {
  const OriginId first = origin_at(0x2000);
  const OriginId second = origin_at(0x2004);
  const OriginId third = origin_at(0x2008);
  const OriginId two = combined_origin(first, second, 0x30);
  ASSERT_NE(two, OriginId::kUnknown);
  const OriginId all = combined_origin(two, third, 0x21);
  ASSERT_NE(all, OriginId::kUnknown);
  const std::array<OriginId, 8> expected = {third, first, first, first, second, third, first, first};
  for (std::uint32_t byte = 0; byte < 8; ++byte) EXPECT_EQ(origin_of_byte(all, byte), expected[byte]) << byte;
  for (std::uint32_t byte = 0; byte < 8; ++byte) EXPECT_EQ(origin_of_byte(first, byte), first);
}

TEST_F(OriginsTest, RandomCombinationsTellEachByte) {
  Random random(9);
  for (int round = 0; round < 3000; ++round) {
    OriginId combined = origin_at(0x3000 + random.below(16) * 4);
    std::array<OriginId, 8> expected{};
    expected.fill(combined);
    for (int step = 0; step < 6; ++step) {
      const OriginId added = origin_at(0x3000 + random.below(16) * 4);
      const auto mask = static_cast<ByteMask>(1 + random.below(255));
      const OriginId next = combined_origin(combined, added, mask);
      if (next == OriginId::kUnknown) continue;
      combined = next;
      for (std::uint32_t byte = 0; byte < 8; ++byte) {
        if ((mask >> byte & 1) != 0) expected[byte] = added;
      }
    }
    for (std::uint32_t byte = 0; byte < 8; ++byte) ASSERT_EQ(origin_of_byte(combined, byte), expected[byte]);
  }
}

}  // namespace
}  // namespace deadheat::runtime
