// SPDX-License-Identifier: Apache-2.0
#include "schedule/holds.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <utility>

#include "base/random.h"

namespace deadheat::schedule {
namespace {

constexpr Address kA = 0xa0;

Request exclusive(ThreadNumber thread, Address lock) { return {thread, lock, LockClass::kNone, false}; }
Request shared(ThreadNumber thread, Address lock) { return {thread, lock, LockClass::kNone, true}; }

TEST(Holds, ARecursiveHoldEndsWithItsLastRelease) {
  Holds<HeapSource> holds;
  holds.add(exclusive(1, kA));
  holds.add(exclusive(1, kA));
  holds.release(1, kA);
  EXPECT_TRUE(holds.holds(1, kA));
  holds.release(1, kA);
  EXPECT_FALSE(holds.is_held(kA));
}

TEST(Holds, ReadersHoldTogether) {
  Holds<HeapSource> holds;
  for (const ThreadNumber thread : {1U, 2U, 3U}) holds.add(shared(thread, kA));
  holds.release(2, kA);
  EXPECT_TRUE(holds.holds(1, kA));
  EXPECT_FALSE(holds.holds(2, kA));
  EXPECT_TRUE(holds.holds(3, kA));
}

TEST(Holds, WhoTakesALockProvesThatOthersGaveItUp) {
  Holds<HeapSource> holds;
  holds.add(exclusive(1, kA));
  holds.add(shared(2, kA));
  EXPECT_FALSE(holds.holds(1, kA));
  holds.add(shared(3, kA));
  EXPECT_TRUE(holds.holds(2, kA));
  holds.add(exclusive(4, kA));
  EXPECT_EQ(holds.size(), 1U);
  EXPECT_TRUE(holds.holds(4, kA));
}

TEST(Holds, ALockMayBeReleasedByAnotherThread) {
  Holds<HeapSource> holds;
  holds.release(1, kA);
  holds.add(exclusive(1, kA));
  holds.release(2, kA);
  EXPECT_FALSE(holds.is_held(kA));
}

TEST(Holds, AgreesWithAMapOfHolds) {
  Holds<HeapSource> holds;
  std::map<std::pair<Address, ThreadNumber>, int> model;
  Random random(1);
  for (int step = 0; step < 20'000; ++step) {
    const auto thread = static_cast<ThreadNumber>(1 + random.below(5));
    const Address lock = 8 * random.below(12);
    const auto key = std::pair{lock, thread};
    if (random.chance(0.01)) {
      holds.drop_all_of(thread);
      std::erase_if(model, [&](const auto& entry) { return entry.first.second == thread; });
    } else if (random.chance(0.5)) {
      holds.add(shared(thread, lock));
      ++model[key];
    } else if (model.contains(key)) {
      holds.release(thread, lock);
      if (--model[key] == 0) model.erase(key);
    }
    ASSERT_EQ(holds.size(), model.size());
    ASSERT_EQ(holds.holds(thread, lock), model.contains(key));
  }
  holds.keep_only_those_of(2);
  std::erase_if(model, [](const auto& entry) { return entry.first.second != 2; });
  EXPECT_EQ(holds.size(), model.size());
}

}  // namespace
}  // namespace deadheat::schedule
