// SPDX-License-Identifier: Apache-2.0
#include "core/access_rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "core/vector_clock.h"

namespace deadheat {
namespace {

constexpr auto kR = AccessKind::kRead;
constexpr auto kW = AccessKind::kWrite;
constexpr auto kAR = AccessKind::kAtomicRead;
constexpr auto kAW = AccessKind::kAtomicWrite;
constexpr auto kF = AccessKind::kFree;
constexpr AccessKind kKinds[] = {kR, kW, kAR, kAW, kF};

TEST(AccessRules, ConflictTableIsTheDefinitionOfADataRace) {
  constexpr bool kTable[5][5] = {
      //          R      W     AR     AW     F
      /* R  */ {false, true, false, true, true},
      /* W  */ {true, true, true, true, true},
      /* AR */ {false, true, false, false, true},
      /* AW */ {true, true, false, false, true},
      /* F  */ {true, true, true, true, true},
  };
  for (const AccessKind one : kKinds) {
    for (const AccessKind other : kKinds) EXPECT_EQ(conflict(one, other), kTable[raw(one)][raw(other)]);
  }
}

TEST(AccessRules, SubsumeTableSaysWhatAnOrderedNewerAccessHides) {
  constexpr bool kTable[5][5] = {
      // older:     R      W     AR     AW     F      newer:
      /* R  */ {true, false, true, false, false},
      /* W  */ {true, true, true, true, true},
      /* AR */ {false, false, true, false, false},
      /* AW */ {false, false, true, true, false},
      /* F  */ {true, true, true, true, true},
  };
  for (const AccessKind newer : kKinds) {
    for (const AccessKind older : kKinds) EXPECT_EQ(subsumes(newer, older), kTable[raw(newer)][raw(older)]);
  }
}

TEST(AccessRules, RaceKindLooksAtFreeThenAtomicThenDirection) {
  EXPECT_EQ(race_kind(kW, kW), RaceKind::kWriteWrite);
  EXPECT_EQ(race_kind(kR, kW), RaceKind::kReadWrite);
  EXPECT_EQ(race_kind(kW, kR), RaceKind::kWriteRead);
  for (const AccessKind plain : {kR, kW}) {
    for (const AccessKind atomic : {kAR, kAW}) {
      EXPECT_EQ(race_kind(plain, atomic), RaceKind::kAtomicPlain);
      EXPECT_EQ(race_kind(atomic, plain), RaceKind::kAtomicPlain);
    }
  }
  for (const AccessKind any : kKinds) {
    EXPECT_EQ(race_kind(kF, any), RaceKind::kUseFree);
    EXPECT_EQ(race_kind(any, kF), RaceKind::kUseFree);
  }
}

TEST(AccessRules, FreesAreRecordedAsWrites) {
  EXPECT_EQ(history_of(kF), kW);
  for (const AccessKind kind : {kR, kW, kAR, kAW}) EXPECT_EQ(history_of(kind), kind);
}

// A location as simple as the concept allows: epochs in plain vectors.
struct ToyCell {
  struct History {
    std::vector<Epoch>* epochs;
    bool* shared;
    [[nodiscard]] bool is_empty() const { return epochs->empty(); }
    [[nodiscard]] bool is_shared() const { return *shared; }
    [[nodiscard]] bool contains(Epoch epoch) const {
      return std::find(epochs->begin(), epochs->end(), epoch) != epochs->end();
    }
    template <class View>
    [[nodiscard]] bool is_before(const View& view) const {
      return std::all_of(epochs->begin(), epochs->end(), [&](Epoch epoch) { return happened_before(epoch, view); });
    }
    void replace(Epoch epoch) {
      *epochs = {epoch};
      *shared = false;
    }
    void add(Epoch epoch) {
      std::erase_if(*epochs, [&](Epoch old) { return old.slot() == epoch.slot(); });
      epochs->push_back(epoch);
      *shared = true;
    }
    void remove(ThreadSlot slot) {
      std::erase_if(*epochs, [&](Epoch old) { return old.slot() == slot; });
      *shared = !epochs->empty();
    }
    void clear() {
      epochs->clear();
      *shared = false;
    }
  };
  template <AccessKind kHistory>
  History history() {
    return {&epochs[kHistory], &shared[kHistory]};
  }
  std::map<AccessKind, std::vector<Epoch>> epochs;
  std::map<AccessKind, bool> shared;
};

// A thread that has seen what `knows` says.
struct View {
  Epoch now;
  VectorClock seen;
  [[nodiscard]] Epoch epoch() const { return now; }
  [[nodiscard]] Clock clock_of(ThreadSlot slot) const { return seen.clock_of(slot); }
};

View thread(std::uint32_t slot, Clock clock) {
  View view{Epoch(ThreadSlot{slot}, clock), {}};
  view.seen.set(ThreadSlot{slot}, clock);
  return view;
}
View after(View view, Epoch known) {
  view.seen.set(known.slot(), known.clock());
  return view;
}

class AccessRulesTest : public testing::Test {
 protected:
  template <AccessKind kKind>
  RuleStep access(const View& self) {
    raced.clear();
    return apply_access<kKind>(self, cell, self.epoch(), [&]<AccessKind kHistory>(const ToyCell::History& history) {
      EXPECT_FALSE(history.is_before(self));
      raced.push_back(kHistory);
    });
  }
  template <AccessKind kKind>
  void access_unsampled(const View& self) {
    raced.clear();
    apply_unsampled_access<kKind>(self, cell, [&]<AccessKind kHistory>(const ToyCell::History& history) {
      EXPECT_FALSE(history.is_before(self));
      raced.push_back(kHistory);
    });
  }
  using Kinds = std::vector<AccessKind>;
  using Epochs = std::vector<Epoch>;

  ToyCell cell;
  Kinds raced;
  const View a = thread(1, 1);
  const View b = thread(2, 1);
  const View c = thread(3, 1);
};

TEST_F(AccessRulesTest, ASecondAccessInTheSameEpochDoesNothing) {
  EXPECT_EQ(access<kR>(a), RuleStep::kExclusive);
  EXPECT_EQ(access<kR>(a), RuleStep::kSameEpoch);
  EXPECT_EQ(access<kAR>(a), RuleStep::kSameEpoch);  // the plain read subsumes it
  EXPECT_EQ(access<kW>(a), RuleStep::kExclusive);
  EXPECT_EQ(access<kW>(a), RuleStep::kSameEpoch);
  EXPECT_EQ(access<kR>(a), RuleStep::kSameEpoch);
  EXPECT_EQ(access<kAW>(a), RuleStep::kSameEpoch);
}

TEST_F(AccessRulesTest, AnAtomicWriteDoesNotCountAsTheSameEpochForAPlainRead) {
  EXPECT_EQ(access<kAW>(a), RuleStep::kExclusive);
  EXPECT_EQ(access<kAR>(a), RuleStep::kSameEpoch);
  EXPECT_EQ(access<kR>(a), RuleStep::kExclusive);
  EXPECT_EQ(access<kAW>(b), RuleStep::kShare);
  EXPECT_EQ(raced, Kinds{kR});
}

TEST_F(AccessRulesTest, AFreeIsRecordedEvenInTheEpochOfAWrite) {
  access<kW>(a);
  EXPECT_EQ(access<kF>(a), RuleStep::kExclusive);
  EXPECT_TRUE(raced.empty());
  EXPECT_EQ(access<kW>(a), RuleStep::kSameEpoch);
}

TEST_F(AccessRulesTest, ANewEpochOfTheSameThreadReplaces) {
  access<kR>(thread(1, 1));
  EXPECT_EQ(access<kR>(thread(1, 2)), RuleStep::kExclusive);
  EXPECT_EQ(cell.epochs[kR], std::vector<Epoch>{Epoch(ThreadSlot{1}, 2)});
}

TEST_F(AccessRulesTest, OrderedReadsReplaceAndUnorderedReadsShare) {
  access<kR>(a);
  EXPECT_EQ(access<kR>(after(b, a.now)), RuleStep::kExclusive);
  EXPECT_EQ(access<kR>(c), RuleStep::kShare);
  EXPECT_EQ(access<kR>(thread(4, 1)), RuleStep::kShared);
  EXPECT_EQ(cell.epochs[kR].size(), 3U);
  EXPECT_TRUE(raced.empty());
}

TEST_F(AccessRulesTest, AWriteAfterSharedReadsClearsThem) {
  access<kR>(a);
  access<kR>(b);
  EXPECT_EQ(access<kW>(after(after(c, a.now), b.now)), RuleStep::kShared);
  EXPECT_TRUE(raced.empty());
  EXPECT_TRUE(cell.epochs[kR].empty());
  EXPECT_EQ(cell.epochs[kW], std::vector<Epoch>{c.now});
}

TEST_F(AccessRulesTest, APlainWriteChecksAllHistories) {
  access<kAW>(a);
  access<kR>(after(b, a.now));
  access<kAR>(c);
  access<kW>(thread(4, 1));
  EXPECT_EQ(raced, (Kinds{kR, kAW, kAR}));
}

TEST_F(AccessRulesTest, APlainReadChecksBothKindsOfWrites) {
  access<kW>(a);
  access<kAW>(after(b, a.now));
  access<kR>(c);
  EXPECT_EQ(raced, (Kinds{kW, kAW}));
}

TEST_F(AccessRulesTest, AnAtomicReadChecksPlainWritesOnly) {
  access<kW>(a);
  access<kAW>(after(b, a.now));
  access<kR>(after(after(b, a.now), b.now));
  access<kAR>(c);
  EXPECT_EQ(raced, Kinds{kW});
}

TEST_F(AccessRulesTest, AnAtomicWriteChecksPlainAccesses) {
  access<kW>(a);
  access<kR>(after(b, a.now));
  access<kAW>(c);
  EXPECT_EQ(raced, (Kinds{kW, kR}));
}

TEST_F(AccessRulesTest, AnAtomicWriteKeepsTheReadsAndClearsOrderedAtomicReads) {
  access<kR>(a);
  access<kAR>(after(b, a.now));
  View writer = after(after(c, a.now), b.now);
  EXPECT_EQ(access<kAW>(writer), RuleStep::kExclusive);
  EXPECT_EQ(cell.epochs[kR].size(), 1U);
  EXPECT_TRUE(cell.epochs[kAR].empty());
}

TEST_F(AccessRulesTest, AnUnorderedAtomicReadSurvivesAnAtomicWrite) {
  access<kAR>(a);
  access<kAW>(b);
  EXPECT_EQ(cell.epochs[kAR].size(), 1U);
  access<kW>(after(c, b.now));
  EXPECT_EQ(raced, Kinds{kAR});
}

TEST_F(AccessRulesTest, AfterARaceTheLocationGoesOnBeingChecked) {
  access<kW>(a);
  access<kW>(b);
  EXPECT_EQ(raced, Kinds{kW});
  access<kR>(after(c, b.now));
  EXPECT_TRUE(raced.empty());
  access<kW>(thread(4, 1));
  EXPECT_EQ(raced, (Kinds{kW, kR}));
}

// The column s = false of the paper's Table 4.

TEST_F(AccessRulesTest, UnsampledInTheSameEpochDoesNothing) {  // rules 1 and 4
  access<kW>(a);
  access_unsampled<kW>(a);
  access_unsampled<kR>(a);
  EXPECT_EQ(cell.epochs[kW], Epochs{a.now});
}

TEST_F(AccessRulesTest, AnUnsampledReadDiscardsAnOrderedRead) {  // rule 2
  access<kR>(a);
  access_unsampled<kR>(after(b, a.now));
  EXPECT_TRUE(cell.epochs[kR].empty());
  EXPECT_TRUE(raced.empty());
}

TEST_F(AccessRulesTest, AnUnsampledReadLeavesAConcurrentRead) {  // rule 3
  access<kR>(a);
  access_unsampled<kR>(b);
  EXPECT_EQ(cell.epochs[kR], Epochs{a.now});
  EXPECT_FALSE(cell.shared[kR]);
}

TEST_F(AccessRulesTest, AnUnsampledReadDiscardsOfManyReadsItsOwn) {  // rule 3
  access<kR>(a);
  access<kR>(b);
  access_unsampled<kR>(thread(1, 2));
  EXPECT_EQ(cell.epochs[kR], Epochs{b.now});
  access_unsampled<kR>(thread(2, 2));
  EXPECT_TRUE(cell.epochs[kR].empty());
  EXPECT_FALSE(cell.shared[kR]);
}

TEST_F(AccessRulesTest, AnUnsampledReadNeitherDiscardsNorMissesAWrite) {
  access<kW>(a);
  access_unsampled<kR>(after(b, a.now));
  EXPECT_TRUE(raced.empty());
  access_unsampled<kR>(c);
  EXPECT_EQ(raced, Kinds{kW});
  EXPECT_EQ(cell.epochs[kW], Epochs{a.now});
}

TEST_F(AccessRulesTest, AnUnsampledWriteDiscardsEverythingAndReportsWhatItRacesWith) {  // rule 5
  access<kW>(a);
  access<kAW>(after(b, a.now));
  access<kR>(after(after(b, a.now), b.now));
  access_unsampled<kW>(after(c, a.now));
  EXPECT_EQ(raced, (Kinds{kR, kAW}));
  for (const AccessKind history : kHistories) EXPECT_TRUE(cell.epochs[history].empty());
}

TEST_F(AccessRulesTest, AnUnsampledFreeDiscardsLikeAWrite) {
  access<kR>(a);
  access_unsampled<kF>(b);
  EXPECT_EQ(raced, Kinds{kR});
  EXPECT_TRUE(cell.epochs[kR].empty());
  EXPECT_TRUE(cell.epochs[kW].empty());
}

TEST_F(AccessRulesTest, AnUnsampledAtomicWriteDiscardsOrderedAtomicAccessesAndKeepsPlainOnes) {
  access<kR>(a);
  access<kAR>(after(b, a.now));
  access<kAW>(after(b, a.now));
  access_unsampled<kAW>(after(after(c, a.now), b.now));
  EXPECT_TRUE(raced.empty());
  EXPECT_EQ(cell.epochs[kR], Epochs{a.now});
  EXPECT_TRUE(cell.epochs[kAR].empty());
  EXPECT_TRUE(cell.epochs[kAW].empty());
}

}  // namespace
}  // namespace deadheat
