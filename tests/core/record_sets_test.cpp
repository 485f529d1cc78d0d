// SPDX-License-Identifier: Apache-2.0
#include "core/record_sets.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <vector>

#include "base/random.h"
#include "core/vector_clock.h"

namespace deadheat {
namespace {

AccessRecord record(std::uint32_t slot, Clock clock, std::uint32_t site = 1) {
  return {Epoch(ThreadSlot{slot}, clock), SiteId{site}, SituationId{1}, 4, WriteFlavour::kStore};
}

struct Seen {
  VectorClock seen;
  [[nodiscard]] Epoch epoch() const { return {}; }
  [[nodiscard]] Clock clock_of(ThreadSlot slot) const { return seen.clock_of(slot); }
};

TEST(RecordSets, NumberZeroIsNoSet) {
  RecordSets sets;
  EXPECT_NE(sets.make(), 0U);
  EXPECT_EQ(sets.copy(0), 0U);
  sets.release(0);
  EXPECT_NE(sets.make(), 0U);
}

TEST(RecordSets, AReleasedNumberComesBackEmpty) {
  RecordSets sets;
  const std::uint32_t number = sets.make();
  sets[number].put(record(1, 1));
  sets.release(number);
  EXPECT_EQ(sets.make(), number);
  EXPECT_EQ(sets[number].size(), 0U);
  EXPECT_NE(sets.make(), number);
}

TEST(RecordSets, CopiesLiveSeparateLives) {
  RecordSets sets;
  const std::uint32_t number = sets.make();
  sets[number].put(record(1, 1));
  const std::uint32_t twin = sets.copy(number);
  sets[twin].put(record(2, 1));
  EXPECT_EQ(sets[number].size(), 1U);
  EXPECT_EQ(sets[twin].size(), 2U);
}

// Slots that collide in every small table (multiples of a power of two), dense
// ones and wide ones.
TEST(RecordSet, KeepsTheNewestRecordOfEachSlot) {
  for (const std::uint32_t stride : {1U, 3U, 64U, 1U << 18}) {
    SCOPED_TRACE(testing::Message() << "stride " << stride);
    Random random(stride);
    RecordSet set;
    std::map<std::uint32_t, Clock> model;
    for (Clock clock = 1; clock <= 400; ++clock) {
      const std::uint32_t slot = static_cast<std::uint32_t>(random.below(60)) * stride;
      set.put(record(slot, clock));
      model[slot] = clock;
      ASSERT_EQ(set.size(), model.size());
      std::map<std::uint32_t, Clock> seen;
      set.for_each_concurrent(Seen{}, [&](const AccessRecord& entry) {
        ASSERT_TRUE(seen.emplace(raw(entry.epoch().slot()), entry.epoch().clock()).second);
      });
      ASSERT_EQ(seen, model);
      ASSERT_TRUE(set.contains(Epoch(ThreadSlot{slot}, clock)));
      ASSERT_FALSE(set.contains(Epoch(ThreadSlot{slot}, clock + 1)));
      ASSERT_FALSE(set.contains(Epoch(ThreadSlot{slot + 1}, clock)) && stride != 1);
    }
  }
}

TEST(RecordSet, RemovesOneSlotAndFindsAllOthers) {
  for (const std::uint32_t stride : {1U, 3U, 64U, 1U << 18}) {
    SCOPED_TRACE(testing::Message() << "stride " << stride);
    Random random(stride);
    RecordSet set;
    std::map<std::uint32_t, Clock> model;
    for (Clock clock = 1; clock <= 2000; ++clock) {
      const std::uint32_t slot = static_cast<std::uint32_t>(random.below(40)) * stride;
      if (model.empty() || random.chance(0.5)) {
        set.put(record(slot, clock));
        model[slot] = clock;
      } else {
        set.remove(ThreadSlot{slot});
        model.erase(slot);
      }
      ASSERT_EQ(set.size(), model.size());
      for (const auto& [known, newest] : model) ASSERT_TRUE(set.contains(Epoch(ThreadSlot{known}, newest)));
      std::size_t count = 0;
      set.for_each([&](const AccessRecord&) { ++count; });
      ASSERT_EQ(count, model.size());
    }
  }
}

TEST(RecordSet, AllOfLooksAtEveryRecord) {
  RecordSet set;
  for (std::uint32_t slot = 0; slot < 20; ++slot) set.put(record(slot, slot + 1));
  for (std::uint32_t missing = 0; missing < 20; ++missing) {
    EXPECT_FALSE(set.all_of([&](const AccessRecord& entry) { return entry.epoch().slot() != ThreadSlot{missing}; }));
  }
  EXPECT_TRUE(set.all_of([](const AccessRecord& entry) { return !entry.epoch().is_empty(); }));
}

class SingleOrSetTest : public testing::Test {
 protected:
  [[nodiscard]] std::vector<Epoch> concurrent_with(const Seen& view) {
    std::vector<Epoch> result;
    history.for_each_concurrent(view, [&](const AccessRecord& entry) { result.push_back(entry.epoch()); });
    EXPECT_EQ(history.is_before(view), result.empty());
    return result;
  }

  AccessRecord single;
  std::uint32_t set = 0;
  RecordSets sets;
  SingleOrSet history{single, set, sets};
};

TEST_F(SingleOrSetTest, AnEmptyHistoryIsBeforeEverybody) {
  EXPECT_TRUE(history.is_empty());
  EXPECT_TRUE(concurrent_with(Seen{}).empty());
}

TEST_F(SingleOrSetTest, BecomesASetThatKeepsTheSingleRecord) {
  history.replace(record(1, 1));
  EXPECT_FALSE(history.is_shared());
  history.add(record(2, 1));
  EXPECT_TRUE(history.is_shared());
  EXPECT_TRUE(history.contains(Epoch(ThreadSlot{1}, 1)));
  EXPECT_TRUE(history.contains(Epoch(ThreadSlot{2}, 1)));
  Seen view;
  view.seen.set(ThreadSlot{1}, 1);
  EXPECT_EQ(concurrent_with(view), std::vector<Epoch>{Epoch(ThreadSlot{2}, 1)});
}

TEST_F(SingleOrSetTest, RemovingTheLastOfASetLeavesAnEmptyHistory) {
  history.add(record(1, 1));
  history.add(record(2, 1));
  history.remove(ThreadSlot{3});
  history.remove(ThreadSlot{1});
  EXPECT_FALSE(history.contains(Epoch(ThreadSlot{1}, 1)));
  EXPECT_TRUE(history.contains(Epoch(ThreadSlot{2}, 1)));
  history.remove(ThreadSlot{2});
  EXPECT_TRUE(history.is_empty());
  EXPECT_FALSE(history.is_shared());
}

TEST_F(SingleOrSetTest, ReplaceAndClearGiveTheSetBack) {
  history.add(record(1, 1));
  history.add(record(2, 1));
  const std::uint32_t number = set;
  history.replace(record(3, 1));
  EXPECT_FALSE(history.is_shared());
  EXPECT_FALSE(history.contains(Epoch(ThreadSlot{1}, 1)));
  history.add(record(4, 1));
  EXPECT_EQ(set, number);  // used again
  EXPECT_EQ(sets[set].size(), 2U);
  history.clear();
  EXPECT_TRUE(history.is_empty());
  EXPECT_FALSE(history.is_shared());
}

}  // namespace
}  // namespace deadheat
