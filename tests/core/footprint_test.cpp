// SPDX-License-Identifier: Apache-2.0
// Footprints grow by the algebra of the SlimState paper (section V.A), in the
// direction that the second access gives.
#include "core/footprint.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>

#include "base/random.h"

namespace deadheat {
namespace {

class GrowingFootprintTest : public testing::Test {
 protected:
  // A footprint of these accesses of 8 bytes, all of which extend it.
  template <class... More>
  void grow(Address first, More... more) {
    growing.start(first, 8);
    for (const Address address : {static_cast<Address>(more)...}) EXPECT_TRUE(growing.extends(address)) << address;
  }
  [[nodiscard]] Footprint get() const { return growing.get(); }

  GrowingFootprint growing;
};

TEST_F(GrowingFootprintTest, IsEmptyUntilItStartsAndAfterClear) {
  EXPECT_TRUE(growing.is_empty());
  growing.start(1000, 8);
  EXPECT_FALSE(growing.is_empty());
  growing.clear();
  EXPECT_TRUE(growing.is_empty());
}

TEST_F(GrowingFootprintTest, OneAccessIsOneElement) {
  growing.start(1000, 8);
  EXPECT_EQ(get().begin, 1000U);
  EXPECT_EQ(get().count, 1U);
  EXPECT_EQ(get().size, 8U);
  EXPECT_EQ(get().end(), 1008U);
}

TEST_F(GrowingFootprintTest, NeighboursUpwardsAreDense) {
  grow(1000, 1008, 1016, 1024);
  EXPECT_EQ(get(), (Footprint{1000, 8, 4, 8}));
  EXPECT_TRUE(get().is_dense());
}

TEST_F(GrowingFootprintTest, NeighboursDownwardsAreTheSame) {
  grow(1024, 1016, 1008, 1000);
  EXPECT_EQ(get(), (Footprint{1000, 8, 4, 8}));
}

TEST_F(GrowingFootprintTest, TheSecondAccessFixesTheStepUpwards) {
  grow(1000, 1040, 1080);
  EXPECT_EQ(get(), (Footprint{1000, 40, 3, 8}));
  EXPECT_FALSE(get().is_dense());
  EXPECT_FALSE(growing.extends(1100));
  EXPECT_EQ(get(), (Footprint{1000, 40, 3, 8}));
}

TEST_F(GrowingFootprintTest, TheSecondAccessFixesTheStepDownwards) {
  grow(1080, 1040, 1000);
  EXPECT_EQ(get(), (Footprint{1000, 40, 3, 8}));
  EXPECT_TRUE(growing.extends(960));
  EXPECT_EQ(get(), (Footprint{960, 40, 4, 8}));
}

TEST_F(GrowingFootprintTest, TheSameAddressAgainChangesNothing) {
  grow(1000, 1000, 1000);
  EXPECT_EQ(get().count, 1U);
  EXPECT_TRUE(growing.extends(1016));
  EXPECT_TRUE(growing.extends(1016));
  EXPECT_EQ(get(), (Footprint{1000, 16, 2, 8}));
  EXPECT_TRUE(growing.extends(1032));
  EXPECT_EQ(get(), (Footprint{1000, 16, 3, 8}));
}

TEST_F(GrowingFootprintTest, AnotherTurnThroughItChangesNothing) {
  for (const bool is_up : {true, false}) {
    for (int turn = 0; turn < 3; ++turn) {
      if (is_up) {
        grow(1000, 1016, 1032, 1048);
      } else {
        grow(1048, 1032, 1016, 1000);
      }
    }
    EXPECT_EQ(get(), (Footprint{1000, 16, 4, 8}));
    EXPECT_FALSE(growing.extends(1008)) << "between two elements";
    EXPECT_FALSE(growing.extends(1001)) << "inside an element";
    EXPECT_TRUE(growing.extends(is_up ? 1064 : 984)) << "going on after a repetition";
  }
}

TEST_F(GrowingFootprintTest, ALoopRepeatedFromItsStartIsOneFootprint) {
  growing.start(1000, 8);
  for (int round = 0; round < 3; ++round) {
    for (Address address = 1000; address < 1800; address += 8) EXPECT_TRUE(growing.extends(address));
  }
  EXPECT_EQ(get(), (Footprint{1000, 8, 100, 8}));
}

TEST_F(GrowingFootprintTest, OverlappingElementsAreNoPattern) {
  growing.start(1000, 8);
  EXPECT_FALSE(growing.extends(1004));
  EXPECT_FALSE(growing.extends(996));
  EXPECT_EQ(get().count, 1U);
}

TEST_F(GrowingFootprintTest, DistantElementsAreNoPattern) {
  constexpr Address kFirst = Address{1} << 30;
  growing.start(kFirst, 8);
  EXPECT_FALSE(growing.extends(kFirst + (Address{1} << 20) + 8));
  EXPECT_FALSE(growing.extends(kFirst + (Address{1} << 63)));
  EXPECT_FALSE(growing.extends(0));
  EXPECT_TRUE(growing.extends(kFirst + (Address{1} << 20)));
}

TEST_F(GrowingFootprintTest, ALaterTurnMayGoFurther) {
  grow(1000, 1008, 1016, 1024);
  for (Address address = 1000; address <= 1048; address += 8) EXPECT_TRUE(growing.extends(address));
  EXPECT_EQ(get(), (Footprint{1000, 8, 7, 8}));
  for (Address address = 1008; address <= 1024; address += 8) EXPECT_TRUE(growing.extends(address));
  EXPECT_EQ(get(), (Footprint{1000, 8, 7, 8})) << "a shorter turn keeps what there was";
  EXPECT_TRUE(growing.extends(1056)) << "behind the end that an earlier turn reached";
  EXPECT_EQ(get(), (Footprint{1000, 8, 8, 8}));
}

TEST_F(GrowingFootprintTest, JumpsInsideItAreNoTurns) {
  grow(1000, 1008, 1016, 1024, 1032, 1040);
  EXPECT_TRUE(growing.extends(1016)) << "the loop comes again";
  EXPECT_FALSE(growing.extends(1000));
  EXPECT_EQ(get(), (Footprint{1000, 8, 6, 8}));
}

// The paper also extends at the end where a footprint began; here that is a new one.
TEST_F(GrowingFootprintTest, GrowsOnlyInItsDirection) {
  grow(1000, 1008, 1016);
  EXPECT_FALSE(growing.extends(992));
}

TEST_F(GrowingFootprintTest, StandsForExactlyTheAccessesThatExtendedIt) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    const auto size = static_cast<std::uint32_t>(1 + random.below(8));
    std::set<Address> elements;
    Address address = 10'000 + random.below(100);
    const std::uint64_t step = size + random.below(3) * 4;
    growing.start(address, size);
    elements.insert(address);
    for (int access = 0; access < 12; ++access) {
      const std::uint64_t move = random.below(8);
      if (move < 5) {
        address = seed % 2 == 0 ? address + step : address - step;
      } else if (move < 7) {
        address = 10'000 + random.below(100);
      }
      if (growing.extends(address)) elements.insert(address);
    }
    std::set<Address> described;
    for (std::uint64_t at = 0; at < get().count; ++at) described.insert(get().begin + at * get().step);
    ASSERT_EQ(described, elements);
  }
}

TEST(Footprint, KnowsItsEndAndWhetherItHasGaps) {
  EXPECT_EQ((Footprint{100, 16, 3, 8}).end(), 140U);
  EXPECT_FALSE((Footprint{100, 16, 3, 8}).is_dense());
  EXPECT_TRUE((Footprint{100, 16, 1, 8}).is_dense());
  EXPECT_EQ(Footprint{}.end(), Footprint{}.begin);
  const Footprint dense = Footprint::dense(100, 150);
  EXPECT_EQ(dense.begin, 100U);
  EXPECT_EQ(dense.end(), 150U);
  EXPECT_TRUE(dense.is_dense());
}

}  // namespace
}  // namespace deadheat
