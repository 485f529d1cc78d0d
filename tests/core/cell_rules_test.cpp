// SPDX-License-Identifier: Apache-2.0
// Each rule on its own, and all plans for random cells against what is true of
// each byte: whoever races with an entry that goes must race with something that
// stays. tests/property/cells_agree_test.cpp runs whole traces.
#include "core/cell_rules.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "base/random.h"

namespace deadheat {
namespace {

constexpr AccessKind kAllKinds[] = {AccessKind::kRead, AccessKind::kWrite, AccessKind::kAtomicRead,
                                    AccessKind::kAtomicWrite, AccessKind::kFree};

// A thread that has seen so much of each slot, among threads that have all seen
// at least so much.
struct KnownClocks {
  std::map<std::uint32_t, std::uint32_t> seen;
  std::map<std::uint32_t, std::uint32_t> seen_by_all;
  bool combines = true;

  static std::uint32_t of(const std::map<std::uint32_t, std::uint32_t>& clocks, ThreadSlot slot) {
    const auto found = clocks.find(raw(slot));
    return found == clocks.end() ? 0 : found->second;
  }
  [[nodiscard]] bool happened_before(CellEntry entry) const { return entry.epoch().clock() <= of(seen, entry.slot()); }
  [[nodiscard]] static bool is_known_with(CellEntry older, CellEntry younger) {
    return older.slot() == younger.slot() && older.epoch().clock() <= younger.epoch().clock();
  }
  [[nodiscard]] bool is_obsolete(CellEntry entry) const {
    return entry.epoch().clock() <= of(seen_by_all, entry.slot());
  }
  // A number that tells what it was made of.
  [[nodiscard]] OriginId combine(OriginId earlier, OriginId added, ByteMask mask) const {
    return combines ? OriginId{1'000'000 + raw(earlier) * 1000 + raw(added) * 300 + mask} : OriginId::kUnknown;
  }
};

ShortEpoch at(std::uint32_t clock, std::uint32_t slot) { return ShortEpoch(ThreadSlot{slot}, clock); }

CellEntry entry(std::uint32_t clock, std::uint32_t slot, ByteMask mask, AccessKind kind, std::uint32_t origin = 1) {
  return CellEntry(at(clock, slot), mask, kind, OriginId{origin});
}
CellAccess access(std::uint32_t clock, std::uint32_t slot, ByteMask mask, AccessKind kind, std::uint32_t origin = 2) {
  return CellAccess{at(clock, slot), mask, kind, OriginId{origin}};
}

using Step = CellPlan::Step;

TEST(CellRules, UnorderedConflictOnACommonByteIsARace) {
  const KnownClocks view{{{1, 4}, {2, 7}}, {}, true};
  const CellAccess write = access(7, 2, 0x0f, AccessKind::kWrite);
  EXPECT_TRUE(is_race(entry(5, 1, 0x08, AccessKind::kRead), write, view));
  EXPECT_FALSE(is_race(entry(4, 1, 0x08, AccessKind::kRead), write, view)) << "ordered";
  EXPECT_FALSE(is_race(entry(5, 1, 0xf0, AccessKind::kRead), write, view)) << "other bytes";
  EXPECT_FALSE(is_race(entry(9, 2, 0x0f, AccessKind::kWrite), write, view)) << "the own slot";
  const CellAccess read = access(7, 2, 0x0f, AccessKind::kRead);
  EXPECT_FALSE(is_race(entry(5, 1, 0x0f, AccessKind::kRead), read, view)) << "two reads";
  EXPECT_FALSE(is_race(CellEntry{}, write, view)) << "no entry";
}

TEST(CellRules, SameEpochNeedsAllBytesAndASubsumingKind) {
  const CellEntry write = entry(3, 1, 0x0f, AccessKind::kWrite);
  EXPECT_TRUE(is_same_epoch(write, access(3, 1, 0x03, AccessKind::kRead)));
  EXPECT_FALSE(is_same_epoch(write, access(3, 1, 0x13, AccessKind::kRead)));
  EXPECT_FALSE(is_same_epoch(write, access(4, 1, 0x03, AccessKind::kRead)));
  EXPECT_FALSE(is_same_epoch(entry(3, 1, 0x0f, AccessKind::kRead), access(3, 1, 0x03, AccessKind::kWrite)));
  EXPECT_FALSE(is_same_epoch(write, access(3, 1, 0x03, AccessKind::kFree))) << "a free is always recorded";
}

TEST(CellRules, BytesOfOneEpochAndKindMergeWithCombinedOrigins) {
  const KnownClocks view{{{1, 3}}, {}, true};
  const CellEntry cell[2] = {entry(3, 1, 0x0f, AccessKind::kRead, 1), CellEntry{}};
  const CellPlan plan = plan_access(cell, access(3, 1, 0x30, AccessKind::kRead, 2), view);
  ASSERT_EQ(plan.step, Step::kPlace);
  EXPECT_EQ(plan.index, 0);
  EXPECT_EQ(plan.value.mask(), 0x3f);
  EXPECT_EQ(plan.value.origin(), view.combine(OriginId{1}, OriginId{2}, 0x30));
}

TEST(CellRules, WithoutACombinationTheAccessTakesAPlaceOfItsOwn) {
  const KnownClocks view{{{1, 3}}, {}, false};
  const CellEntry cell[2] = {entry(3, 1, 0x0f, AccessKind::kRead, 1), CellEntry{}};
  const CellPlan plan = plan_access(cell, access(3, 1, 0x30, AccessKind::kRead, 2), view);
  ASSERT_EQ(plan.step, Step::kPlace);
  EXPECT_EQ(plan.index, 1);
  EXPECT_EQ(plan.value.mask(), 0x30);
}

TEST(CellRules, TwoConcurrentReadersAndAThirdNeedMoreRoom) {
  const KnownClocks view{{{3, 1}}, {}, true};
  const CellEntry cell[2] = {entry(1, 1, 0xff, AccessKind::kRead), entry(1, 2, 0xff, AccessKind::kRead)};
  EXPECT_EQ(plan_access(cell, access(1, 3, 0xff, AccessKind::kRead), view).step, Step::kExtend);
  EXPECT_EQ(plan_access(cell, access(1, 3, 0xff, AccessKind::kWrite), view).step, Step::kPlace)
      << "a plain write replaces what it races with";
}

TEST(CellRules, AnAtomicWriteDoesNotReplaceAPlainRead) {
  const KnownClocks view{{{1, 5}, {2, 5}, {3, 1}}, {}, true};
  const CellEntry cell[2] = {entry(1, 1, 0xff, AccessKind::kRead), entry(1, 2, 0xff, AccessKind::kRead)};
  EXPECT_EQ(plan_access(cell, access(1, 3, 0xff, AccessKind::kAtomicWrite), view).step, Step::kExtend);
}

TEST(CellRules, WhatAllThreadsKnowMakesRoom) {
  const KnownClocks view{{{3, 1}, {2, 1}}, {{2, 1}}, true};
  const CellEntry cell[2] = {entry(1, 1, 0xff, AccessKind::kRead), entry(1, 2, 0x0f, AccessKind::kWrite)};
  const CellPlan plan = plan_access(cell, access(1, 3, 0xf0, AccessKind::kRead), view);
  EXPECT_EQ(plan.step, Step::kPlace);
  EXPECT_EQ(plan.index, 1);
}

// Byte by byte: once `gone` is replaced by what the plan leaves, does every later
// access that races with `gone` race with something that is left, unless the byte
// has been reported? A later access is any kind by a thread that may know any part
// of the slots; it is enough that something left has a subsuming kind and is known
// to no one who does not know `gone`.
template <class Left>
bool stands_for(CellEntry gone, const Left& left, const CellAccess& now, const KnownClocks& view) {
  if (gone.is_empty() || view.is_obsolete(gone)) return true;
  for (int byte = 0; byte < 8; ++byte) {
    const auto bit = static_cast<ByteMask>(1U << byte);
    if ((gone.mask() & bit) == 0) continue;
    const bool is_reported = (now.mask & bit) != 0 && is_race(gone, now, view);
    bool is_covered_byte = is_reported;
    for (const CellEntry entry : left) {
      if ((entry.mask() & bit) == 0 || !subsumes(entry.kind(), gone.kind())) continue;
      const bool is_later_of_slot = entry.slot() == gone.slot() && entry.epoch().clock() >= gone.epoch().clock();
      const bool is_access = entry.epoch() == now.epoch && view.happened_before(gone);
      if (is_later_of_slot || is_access) is_covered_byte = true;
    }
    if (!is_covered_byte) return false;
  }
  return true;
}

struct RandomCell {
  CellEntry entries[2];
  CellAccess access;
  KnownClocks view;
};

// Small numbers, so that epochs, slots and bytes coincide often. The accessing
// thread knows its own slot up to its clock, and no entry is ahead of that.
RandomCell random_cell(Random& random) {
  const auto below = [&](std::uint32_t most) { return static_cast<std::uint32_t>(random.below(most)); };
  const auto mask = [&] {
    constexpr ByteMask kUsual[] = {0xff, 0x0f, 0xf0, 0x03, 0x01, 0x80};
    return random.chance(0.7) ? kUsual[below(6)] : static_cast<ByteMask>(1 + below(255));
  };
  RandomCell result;
  const std::uint32_t own_clock = 1 + below(3);
  const std::uint32_t own_slot = 1 + below(3);
  result.access = access(own_clock, own_slot, mask(), kAllKinds[below(5)], 1 + below(3));
  for (std::uint32_t slot = 1; slot <= 3; ++slot) {
    result.view.seen[slot] = slot == own_slot ? own_clock : below(4);
    result.view.seen_by_all[slot] = below(result.view.seen[slot] + 1);
    if (slot == own_slot && result.view.seen_by_all[slot] == own_clock) --result.view.seen_by_all[slot];
  }
  result.view.combines = random.chance(0.8);
  for (CellEntry& each : result.entries) {
    if (random.chance(0.15)) continue;
    const std::uint32_t slot = 1 + below(3);
    const std::uint32_t clock = 1 + below(slot == own_slot ? own_clock : 3);
    each = entry(clock, slot, mask(), kHistories[below(4)], 1 + below(3));
  }
  return result;
}

// What a plan leaves of the cell.
std::vector<CellEntry> left_by(const RandomCell& cell, const CellPlan& plan) {
  std::vector<CellEntry> left(cell.entries, cell.entries + 2);
  if (plan.step == Step::kPlace) left[plan.index] = plan.value;
  if (plan.step == Step::kExtend) left.push_back(plan.value);
  return left;
}

TEST(CellRules, NoPlanForgetsARaceToCome) {
  Random random(3);
  int places = 0;
  for (int round = 0; round < 500'000; ++round) {
    const RandomCell cell = random_cell(random);
    const CellPlan plan = plan_access(cell.entries, cell.access, cell.view);
    const std::vector<CellEntry> left = left_by(cell, plan);
    for (const CellEntry gone : cell.entries) {
      ASSERT_TRUE(stands_for(gone, left, cell.access, cell.view)) << "round " << round;
    }
    ASSERT_TRUE(plan.step == Step::kNothing ||
                stands_for(cell.access.entry(), left, cell.access, KnownClocks{cell.view.seen, {}, true}))
        << "the access itself is not recorded; round " << round;
    places += plan.step == Step::kPlace ? 1 : 0;
  }
  EXPECT_GT(places, 100'000);
}

TEST(CellRules, NothingToDoOnlyAfterASubsumingAccessOfTheSameEpoch) {
  Random random(4);
  int nothing = 0;
  for (int round = 0; round < 500'000; ++round) {
    const RandomCell cell = random_cell(random);
    if (plan_access(cell.entries, cell.access, cell.view).step != Step::kNothing) continue;
    ++nothing;
    bool is_there = false;
    for (const CellEntry each : cell.entries) {
      is_there |= each.epoch() == cell.access.epoch && (cell.access.mask & ~each.mask()) == 0 &&
                  subsumes(each.kind(), cell.access.kind);
    }
    ASSERT_TRUE(is_there && cell.access.kind != AccessKind::kFree) << "round " << round;
  }
  EXPECT_GT(nothing, 1000);
}

// The quick plan does not look for races, so there must be none, and what it
// replaces must be allowed to go.
template <AccessKind kKind, class Plan>
void check_quick_plan(std::uint64_t seed, Plan&& quick_plan_of) {
  Random random(seed);
  int taken[5] = {};
  for (int round = 0; round < 1'000'000; ++round) {
    RandomCell cell = random_cell(random);
    cell.access.kind = kKind;
    const QuickPlan quick = quick_plan_of(cell);
    ++taken[static_cast<int>(quick)];
    if (quick == QuickPlan::kAsk) continue;
    for (const CellEntry each : cell.entries) {
      ASSERT_FALSE(is_race(each, cell.access, cell.view)) << "round " << round;
    }
    CellPlan plan{Step::kPlace, static_cast<std::uint8_t>(quick >= QuickPlan::kSecond ? 1 : 0), cell.access.entry()};
    if (quick == QuickPlan::kFirstMerged || quick == QuickPlan::kSecondMerged) {
      ASSERT_TRUE(can_merge(cell.entries[plan.index], cell.access)) << "round " << round;
      plan.value = merged(cell.entries[plan.index], cell.access, cell.view);
      if (plan.value.is_empty()) continue;
    }
    const std::vector<CellEntry> left = left_by(cell, plan);
    for (const CellEntry gone : cell.entries) {
      ASSERT_TRUE(stands_for(gone, left, cell.access, cell.view)) << "round " << round;
    }
    const bool also_by_rules =
        may_go(cell.entries[plan.index], cell.access, cell.view) || can_merge(cell.entries[plan.index], cell.access) ||
        is_covered(cell.entries[plan.index], cell.entries[1 - plan.index], cell.access, cell.view);
    ASSERT_TRUE(also_by_rules) << "round " << round;
  }
  for (const int count : taken) EXPECT_GT(count, 100) << "a case that the test does not reach";
}

template <AccessKind kKind>
QuickPlan quick_plan_of(const RandomCell& cell) {
  return quick_plan<kKind>(cell.entries[0], cell.entries[1], cell.access.entry(), cell.view);
}
template <AccessKind kKind>
QuickPlan loop_plan_of(const RandomCell& cell) {
  return next_in_loop<kKind>(cell.entries[0], cell.entries[1], cell.access.entry());
}

TEST(QuickPlan, OfReadsTakesOnlyWhatTheRulesAllow) {
  check_quick_plan<AccessKind::kRead>(5, quick_plan_of<AccessKind::kRead>);
}
TEST(QuickPlan, OfWritesTakesOnlyWhatTheRulesAllow) {
  check_quick_plan<AccessKind::kWrite>(6, quick_plan_of<AccessKind::kWrite>);
}
TEST(QuickPlan, InLoopsOfReadsTakesOnlyWhatTheRulesAllow) {
  check_quick_plan<AccessKind::kRead>(7, loop_plan_of<AccessKind::kRead>);
}
TEST(QuickPlan, InLoopsOfWritesTakesOnlyWhatTheRulesAllow) {
  check_quick_plan<AccessKind::kWrite>(8, loop_plan_of<AccessKind::kWrite>);
}

TEST(QuickPlan, AsksWhenAnEntryIsNotOrderedAndCollides) {
  const KnownClocks view{{{1, 3}}, {}, true};
  const CellEntry own = access(3, 1, 0x0f, AccessKind::kRead).entry();
  EXPECT_EQ(quick_plan<AccessKind::kRead>(entry(1, 2, 0x0f, AccessKind::kWrite), CellEntry{}, own, view),
            QuickPlan::kAsk);
  EXPECT_EQ(quick_plan<AccessKind::kRead>(entry(1, 2, 0xf0, AccessKind::kWrite), CellEntry{}, own, view),
            QuickPlan::kSecond)
      << "other bytes";
  EXPECT_EQ(quick_plan<AccessKind::kRead>(entry(1, 2, 0x0f, AccessKind::kRead), CellEntry{}, own, view),
            QuickPlan::kSecond)
      << "two readers";
  EXPECT_EQ(quick_plan<AccessKind::kRead>(entry(2, 1, 0x0f, AccessKind::kRead), CellEntry{}, own, view),
            QuickPlan::kFirst);
}

}  // namespace
}  // namespace deadheat
