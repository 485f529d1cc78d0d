// SPDX-License-Identifier: Apache-2.0
#include "core/cell_entry.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace deadheat {
namespace {

TEST(CellEntry, GivesBackWhatItWasMadeOf) {
  Random random(1);
  for (int round = 0; round < 10'000; ++round) {
    const ShortEpoch epoch(ThreadSlot{1 + static_cast<std::uint32_t>(random.below(ShortEpoch::kMaxSlot))},
                           static_cast<std::uint32_t>(random.below(ShortEpoch::kMaxClock + 1ULL)));
    const auto mask = static_cast<ByteMask>(random.below(256));
    const AccessKind kind = kHistories[random.below(4)];
    const OriginId origin{static_cast<std::uint32_t>(random.below(CellEntry::kMaxOrigin + 1ULL))};
    const CellEntry entry(epoch, mask, kind, origin);
    EXPECT_EQ(entry.epoch(), epoch);
    EXPECT_EQ(entry.slot(), epoch.slot());
    EXPECT_EQ(entry.mask(), mask);
    EXPECT_EQ(entry.kind(), kind);
    EXPECT_EQ(entry.origin(), origin);
    EXPECT_EQ(CellEntry::from_bits(entry.bits()), entry);
  }
}

TEST(CellEntry, LargestValuesDoNotSpillIntoNeighbours) {
  const ShortEpoch last(ThreadSlot{ShortEpoch::kMaxSlot}, ShortEpoch::kMaxClock);
  const CellEntry full(last, 0xff, AccessKind::kAtomicRead, OriginId{CellEntry::kMaxOrigin});
  EXPECT_EQ(full.slot(), ThreadSlot{ShortEpoch::kMaxSlot});
  EXPECT_EQ(full.epoch().clock(), ShortEpoch::kMaxClock);
  const CellEntry bare(ShortEpoch(ThreadSlot{1}, 0), 0, AccessKind::kWrite, OriginId::kUnknown);
  EXPECT_EQ(bare.mask(), 0);
  EXPECT_EQ(bare.origin(), OriginId::kUnknown);
  EXPECT_FALSE(bare.is_empty());
}

TEST(CellEntry, LastSlotNumberIsNobodys) { EXPECT_EQ(ShortEpoch::kMaxSlot, (1U << ShortEpoch::kSlotBits) - 2); }

TEST(CellEntry, AFreeIsRecordedAsAWrite) {
  const CellEntry entry(ShortEpoch(ThreadSlot{3}, 9), 0x0f, AccessKind::kFree, OriginId{5});
  EXPECT_EQ(entry.kind(), AccessKind::kWrite);
}

TEST(CellEntry, MoreBytesChangeNothingElse) {
  const CellEntry entry(ShortEpoch(ThreadSlot{3}, 9), 0x03, AccessKind::kRead, OriginId{5});
  const CellEntry more = entry.with_bytes(0x82);
  EXPECT_EQ(more.mask(), 0x83);
  EXPECT_EQ(more.epoch(), entry.epoch());
  EXPECT_EQ(more.kind(), entry.kind());
  EXPECT_EQ(more.origin(), entry.origin());
}

// The comparison of the hooks against the plain sentence: same epoch, all bytes
// of the access there, a kind that subsumes the access's.
TEST(CellEntry, OneComparisonTellsWhetherAnAccessIsRedundant) {
  Random random(2);
  int redundant = 0;
  for (int round = 0; round < 200'000; ++round) {
    const auto near = [&](std::uint32_t most) { return 1 + static_cast<std::uint32_t>(random.below(most)); };
    const CellEntry entry(ShortEpoch(ThreadSlot{near(2)}, near(2)),
                          static_cast<ByteMask>(random.next() | random.next()), kHistories[random.below(4)],
                          OriginId{near(3)});
    const ShortEpoch epoch(ThreadSlot{near(2)}, near(2));
    const auto mask = static_cast<ByteMask>(random.next() & random.next());
    const AccessKind kind = kHistories[random.below(4)];
    const std::uint64_t mask_bits = std::uint64_t{mask} << CellEntry::kMaskShift;
    const std::uint64_t wanted = (std::uint64_t{epoch.bits()} << CellEntry::kEpochShift) | mask_bits;
    const bool quickly = ((entry.bits() ^ wanted) & CellEntry::care_bits(kind, mask_bits)) == 0;
    const bool plainly = entry.epoch() == epoch && (mask & ~entry.mask()) == 0 && subsumes(entry.kind(), kind);
    ASSERT_EQ(quickly, plainly) << "round " << round;
    redundant += quickly ? 1 : 0;
  }
  EXPECT_GT(redundant, 1000);
}

}  // namespace
}  // namespace deadheat
