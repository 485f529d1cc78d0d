// SPDX-License-Identifier: Apache-2.0
#include "core/access_record.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace deadheat {
namespace {

constexpr Epoch kEpoch(ThreadSlot{3}, 77);
constexpr SituationId kLastSituation{SituationTable::kLimit - 1};

TEST(AccessRecord, DefaultRecordIsNoAccess) { EXPECT_TRUE(AccessRecord{}.epoch().is_empty()); }

TEST(AccessRecord, KeepsEveryFieldAtItsLimits) {
  for (const SituationId situation : {SituationId::kUnknown, SituationId{1}, kLastSituation}) {
    for (const WriteFlavour flavour : {WriteFlavour::kStore, WriteFlavour::kFree}) {
      for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{16}, std::uint64_t{64}}) {
        const AccessRecord record(kEpoch, SiteId{0xffffffff}, situation, size, flavour);
        EXPECT_EQ(record.epoch(), kEpoch);
        EXPECT_EQ(record.site(), SiteId{0xffffffff});
        EXPECT_EQ(record.situation(), situation);
        EXPECT_EQ(record.size(), size);
        EXPECT_EQ(record.flavour(), flavour);
      }
    }
  }
}

TEST(AccessRecord, TellsSizesOrSaysThatItDoesNotKnow) {
  for (std::uint64_t size = 0; size <= 130; ++size) {
    const AccessRecord record(kEpoch, SiteId{1}, SituationId{1}, size, WriteFlavour::kStore);
    const bool is_kept = size <= 16 || size == 32 || size == 64;
    EXPECT_EQ(record.size(), is_kept ? size : 0) << size;
  }
  const AccessRecord huge(kEpoch, SiteId{1}, SituationId{1}, ~std::uint64_t{0}, WriteFlavour::kFree);
  EXPECT_EQ(huge.size(), 0U);
  EXPECT_EQ(huge.situation(), SituationId{1});
}

TEST(AccessRecord, EqualityNeedsEveryField) {
  const AccessRecord record(kEpoch, SiteId{1}, SituationId{2}, 4, WriteFlavour::kStore);
  EXPECT_EQ(record, AccessRecord(kEpoch, SiteId{1}, SituationId{2}, 4, WriteFlavour::kStore));
  EXPECT_NE(record, AccessRecord(Epoch{}, SiteId{1}, SituationId{2}, 4, WriteFlavour::kStore));
  EXPECT_NE(record, AccessRecord(kEpoch, SiteId{2}, SituationId{2}, 4, WriteFlavour::kStore));
  EXPECT_NE(record, AccessRecord(kEpoch, SiteId{1}, SituationId{3}, 4, WriteFlavour::kStore));
  EXPECT_NE(record, AccessRecord(kEpoch, SiteId{1}, SituationId{2}, 8, WriteFlavour::kStore));
  EXPECT_NE(record, AccessRecord(kEpoch, SiteId{1}, SituationId{2}, 4, WriteFlavour::kFree));
}

}  // namespace
}  // namespace deadheat
