// SPDX-License-Identifier: Apache-2.0
// Cells that threads which sample and threads which do not work on at once: what is
// recorded stays visible to the inline checks, and what is removed makes room.
#include "runtime/unsampled.h"

#include <gtest/gtest.h>

#include "runtime/access_check.h"
#include "runtime/cell_blocks.h"
#include "runtime/range_check.h"
#include "runtime/sampling.h"
#include "runtime/shadow_memory.h"
#include "runtime/stand_in.h"

namespace deadheat::runtime {
namespace {

constexpr Address kCode = 0x2000;

class Unsampled : public testing::Test {
 protected:
  void SetUp() override {
    if (!start_stand_in()) GTEST_SKIP() << "no room for the shadow in this process";
    samples = true;
    period_is_open = true;
  }
  ~Unsampled() override {
    samples = false;
    period_is_open = false;
    if (current.state != nullptr) publish_epoch(*current.state);
  }
};

template <AccessKind kKind, std::size_t kSize>
void record(Address address) {
  check_first<kKind, kSize>(address, kCode + address % 8 * 16);
}

void pass_by(AccessKind kind, Address begin, std::size_t size) {
  RuntimeScope scope;
  const SamplingEvent event(*current.state);
  check_unsampled(*current.state, kind, begin, begin + size, kCode);
}

bool is_empty_at_first_sight(Address word) { return cell_of(word)->entries[0].load() == 0; }

bool has_entries(Address word) {
  const ShadowCell& cell = *cell_of(word);
  for (const std::atomic<std::uint64_t>& entry : cell.entries) {
    const std::uint64_t bits = entry.load();
    if (!is_link(bits)) {
      if (CellEntry::from_bits(bits).has_bytes()) return true;
      continue;
    }
    for (std::uint64_t next = bits; is_link(next);) {
      const CellBlock* block = block_of(next);
      next = 0;
      for (const std::atomic<std::uint64_t>& inner : block->entries) {
        if (is_link(inner.load())) {
          next = inner.load();
        } else if (CellEntry::from_bits(inner.load()).has_bytes()) {
          return true;
        }
      }
    }
  }
  return false;
}

TEST_F(Unsampled, ARecordIsReportedOnceAndAWriteRemovesIt) {
  WatchedWords words(1);
  run_threads(1, [&](int) { record<AccessKind::kWrite, 8>(words.address(0)); });
  EXPECT_FALSE(is_empty_at_first_sight(words.address(0)));
  run_threads(1, [&](int) { pass_by(AccessKind::kWrite, words.address(0), 8); });
  EXPECT_EQ(words.races(0), 1U);
  EXPECT_TRUE(is_empty_at_first_sight(words.address(0)));
  run_threads(1, [&](int) { pass_by(AccessKind::kWrite, words.address(0), 8); });
  EXPECT_EQ(words.races(0), 1U);
}

TEST_F(Unsampled, AReadThatRacesLeavesTheRecord) {
  WatchedWords words(1);
  run_threads(1, [&](int) { record<AccessKind::kWrite, 4>(words.address(0)); });
  run_threads(1, [&](int) {
    pass_by(AccessKind::kRead, words.address(0) + 4, 4);
    EXPECT_EQ(words.races(0), 0U);
    pass_by(AccessKind::kRead, words.address(0), 4);
  });
  EXPECT_EQ(words.races(0), 1U);
  EXPECT_TRUE(has_entries(words.address(0)));
}

TEST_F(Unsampled, AWriteOfSomeBytesLeavesTheOthers) {
  WatchedWords words(1);
  run_threads(1, [&](int) { record<AccessKind::kRead, 8>(words.address(0)); });
  run_threads(1, [&](int) {
    pass_by(AccessKind::kWrite, words.address(0), 4);
    EXPECT_EQ(words.races(0), 1U);
    pass_by(AccessKind::kWrite, words.address(0), 4);
    EXPECT_EQ(words.races(0), 1U);
    pass_by(AccessKind::kWrite, words.address(0) + 4, 4);
    EXPECT_EQ(words.races(0), 2U);
  });
  EXPECT_TRUE(is_empty_at_first_sight(words.address(0)));
}

TEST_F(Unsampled, TheFirstPlaceIsKeptAsLongAsThereAreOthers) {
  WatchedWords words(1);
  run_threads(2, [&](int index) {
    static RoundBarrier barrier(2);
    if (index == 1) barrier.meet(0);
    index == 0 ? record<AccessKind::kWrite, 4>(words.address(0)) : record<AccessKind::kWrite, 4>(words.address(0) + 4);
    if (index == 0) barrier.meet(0);
  });
  run_threads(1, [&](int) { pass_by(AccessKind::kWrite, words.address(0), 4); });
  EXPECT_FALSE(is_empty_at_first_sight(words.address(0)));
  run_threads(1, [&](int) { pass_by(AccessKind::kWrite, words.address(0) + 4, 4); });
  EXPECT_EQ(words.races(0), 2U);
  EXPECT_TRUE(is_empty_at_first_sight(words.address(0)));
}

// The thread notices whether a period is open.
void look_for_period() {
  alignas(8) static std::uint64_t own_words[8] = {};
  current.cell_mask = 0;
  record<AccessKind::kRead, 8>(reinterpret_cast<Address>(&own_words[thread_number(*current.state) % 8]));
  EXPECT_EQ(is_unsampled(*current.state), !period_is_open);
}
void stop_sampling() {
  period_is_open = false;
  look_for_period();
}
std::uint64_t checked_reads() { return current.state->sampling.checked_accesses[0]; }

TEST_F(Unsampled, AReadOfWhatOthersHaveReadIsNoEvent) {
  WatchedWords words(1);
  run_threads(1, [&](int) { record<AccessKind::kRead, 8>(words.address(0)); });
  const std::uint64_t recorded = cell_of(words.address(0))->entries[0].load();
  run_threads(1, [&](int) {
    stop_sampling();
    for (int time = 0; time < 3; ++time) record<AccessKind::kRead, 4>(words.address(0) + 4);
    EXPECT_EQ(checked_reads(), 0U);
    EXPECT_EQ(cell_of(words.address(0))->entries[0].load(), recorded);
    record<AccessKind::kWrite, 4>(words.address(0));
  });
  EXPECT_EQ(words.races(0), 1U);
}

TEST_F(Unsampled, AReadOfWhatWasWrittenIsOne) {
  WatchedWords words(2);
  run_threads(1, [&](int) {
    record<AccessKind::kWrite, 4>(words.address(0));
    record<AccessKind::kRead, 8>(words.address(1));
    record<AccessKind::kWrite, 4>(words.address(1));
  });
  run_threads(1, [&](int) {
    stop_sampling();
    record<AccessKind::kRead, 4>(words.address(0) + 4);
    EXPECT_EQ(words.races(0), 0U);
    record<AccessKind::kRead, 8>(words.address(0));
    record<AccessKind::kRead, 1>(words.address(1));
  });
  EXPECT_EQ(words.races(0), 1U);
  EXPECT_EQ(words.races(1), 1U);
}

TEST_F(Unsampled, AReadOfWhatTheThreadHasWrittenIsNoEvent) {
  WatchedWords words(2);
  run_threads(1, [&](int) {
    record<AccessKind::kWrite, 8>(words.address(0));
    record<AccessKind::kRead, 8>(words.address(1));
    const std::uint64_t recorded = cell_of(words.address(0))->entries[0].load();
    stop_sampling();
    for (int time = 0; time < 3; ++time) record<AccessKind::kRead, 4>(words.address(0) + 4);
    EXPECT_EQ(checked_reads(), 0U);
    EXPECT_EQ(cell_of(words.address(0))->entries[0].load(), recorded);
    // What it has read itself it reads again in its place, and writes in the place of all.
    record<AccessKind::kRead, 8>(words.address(1));
    EXPECT_EQ(checked_reads(), 1U);
    EXPECT_TRUE(is_empty_at_first_sight(words.address(1)));
    record<AccessKind::kWrite, 8>(words.address(0));
    EXPECT_TRUE(is_empty_at_first_sight(words.address(0)));
  });
  EXPECT_EQ(words.races(0) + words.races(1), 0U);
}

// What leaves_all() says of an access is what the access does, whatever two threads have recorded before.
TEST_F(Unsampled, AnAccessThatLeavesAllChangesNothingAndRacesWithNothing) {
  constexpr std::size_t kWords = 400;
  WatchedWords words(kWords);
  const auto record_some = [&](std::size_t index, std::size_t number) {
    const Address at = words.address(index) + number % 2 * 4;
    number % 4 < 2 ? record<AccessKind::kWrite, 4>(at) : record<AccessKind::kRead, 4>(at);
  };
  run_threads(1, [&](int) {
    for (std::size_t index = 0; index < kWords; ++index) {
      if (index % 5 != 0) record_some(index, index / 5);
    }
  });
  std::size_t left = 0;
  run_threads(1, [&](int) {
    for (std::size_t index = 0; index < kWords; ++index) {
      if (index % 3 != 0) record_some(index, index / 3);
    }
    stop_sampling();
    for (std::size_t index = 0; index < kWords; ++index) {
      ShadowCell& cell = *cell_of(words.address(index));
      const std::uint64_t before[2] = {cell.entries[0].load(), cell.entries[1].load()};
      const std::uint32_t races = words.races(index);
      const auto kind = index % 7 < 4 ? AccessKind::kRead : AccessKind::kWrite;
      const Address at = words.address(index) + index % 2 * 4;
      const auto mask = static_cast<ByteMask>(0xfU << (at & 7));
      const bool leaves = before[0] != 0 && leaves_all(cell, kind, mask, ThreadView(*current.state));
      pass_by(kind, at, 4);
      const bool is_same = cell.entries[0].load() == before[0] && cell.entries[1].load() == before[1];
      EXPECT_TRUE(!leaves || (is_same && words.races(index) == races)) << index;
      left += leaves ? 1 : 0;
    }
  });
  EXPECT_GT(left, kWords / 10);
  EXPECT_LT(left, kWords * 9 / 10);
}

// A loop that reads all words, or writes them.
void loop_over(const WatchedWords& words, AccessKind kind) {
  check_range(words.address(0), 8, words.size(), 8U << 1 | (is_write(kind) ? 1 : 0), kCode + raw(kind));
}

TEST_F(Unsampled, ARangeIsCheckedOnceWhileRecordsOnlyGo) {
  WatchedWords words(100);
  run_threads(1, [&](int) {
    look_for_period();
    loop_over(words, AccessKind::kRead);
  });
  run_threads(1, [&](int) {
    stop_sampling();
    loop_over(words, AccessKind::kRead);
    loop_over(words, AccessKind::kRead);
    EXPECT_EQ(checked_reads(), 200U);  // others may record
    quiet_time = 1;
    loop_over(words, AccessKind::kRead);
    loop_over(words, AccessKind::kRead);
    EXPECT_EQ(checked_reads(), 300U);
    quiet_time = 2;  // there was a period in between
    loop_over(words, AccessKind::kRead);
    EXPECT_EQ(checked_reads(), 400U);
    loop_over(words, AccessKind::kWrite);
    quiet_time = 0;
  });
  for (std::size_t index = 0; index < words.size(); ++index) EXPECT_EQ(words.races(index), 1U) << index;
}

// Words side by side are settled together where their entries are alike: with what comes of them one by one.
TEST_F(Unsampled, ARangeLeavesWhatItsWordsWouldLeaveOneByOne) {
  constexpr std::size_t kWords = 512;
  for (const AccessKind kind : {AccessKind::kRead, AccessKind::kWrite}) {
    WatchedWords whole(kWords);
    WatchedWords single(kWords);  // the one whose races are counted
    // Stretches of words with the same entries: of this thread, of another one, of both, of none.
    const auto record_some = [](const WatchedWords& words, std::size_t who) {
      for (std::size_t index = 0; index < kWords; ++index) {
        const std::size_t stretch = index / 11;
        if ((stretch >> who) % 2 == 0) continue;
        const Address at = words.address(index);
        if (index % 13 == 0) {
          record<AccessKind::kRead, 4>(at + 4);
        } else if (stretch / 4 % 3 == 0) {
          record<AccessKind::kWrite, 8>(at);
        } else {
          record<AccessKind::kRead, 8>(at);
        }
      }
    };
    run_threads(1, [&](int) {
      record_some(whole, 0);
      record_some(single, 0);
    });
    run_threads(1, [&](int) {
      period_is_open = true;
      look_for_period();
      record_some(whole, 1);
      record_some(single, 1);
      stop_sampling();
      quiet_time = 1;
      pass_by(kind, whole.address(0) + 4, 8 * kWords - 8);
      quiet_time = 0;
      pass_by(kind, single.address(0) + 4, 4);
      for (std::size_t index = 1; index + 1 < kWords; ++index) pass_by(kind, single.address(index), 8);
      pass_by(kind, single.address(kWords - 1), 4);
    });
    for (std::size_t index = 0; index < kWords; ++index) {
      for (const int entry : {0, 1}) {
        const auto left = CellEntry::from_bits(cell_of(whole.address(index))->entries[entry].load());
        const auto expected = CellEntry::from_bits(cell_of(single.address(index))->entries[entry].load());
        EXPECT_EQ(left.mask(), expected.mask()) << index;
        EXPECT_EQ(left.kind(), expected.kind()) << index;
        EXPECT_EQ(left.slot(), expected.slot()) << index;
      }
    }
    period_is_open = true;
  }
}

TEST_F(Unsampled, ARangeThatWasCheckedMeetsRecordsOfTheNextPeriod) {
  WatchedWords words(10);
  run_threads(2, [&](int index) {
    static RoundBarrier barrier(2);
    if (index == 0) {
      stop_sampling();
      quiet_time = 1;
      loop_over(words, AccessKind::kRead);
      quiet_time = 0;
      period_is_open = true;
      barrier.meet(0);
      barrier.meet(1);
      period_is_open = false;
      quiet_time = 2;
      loop_over(words, AccessKind::kRead);
      quiet_time = 0;
    } else {
      barrier.meet(0);
      look_for_period();
      loop_over(words, AccessKind::kWrite);
      barrier.meet(1);
    }
  });
  for (std::size_t index = 0; index < words.size(); ++index) EXPECT_EQ(words.races(index), 1U) << index;
}

// Two record in bytes of their own, two remove: of these cells some grow chains.
TEST_F(Unsampled, NothingIsHiddenWhenRecordsComeAndGoAtOnce) {
  constexpr int kThreads = 4;
  WatchedWords words(8000);
  RoundBarrier barrier(kThreads);
  run_threads(kThreads, [&](int index) {
    for (std::size_t round = 0; round < words.size(); ++round) {
      if (round % 4 == 0) barrier.meet(static_cast<int>(round / 4));
      const Address word = words.address(round);
      if (index < 2) {
        record<AccessKind::kWrite, 1>(word + static_cast<Address>(index) * 3);
        record<AccessKind::kRead, 1>(word + 7 - static_cast<Address>(index) * 2);
      } else {
        pass_by(AccessKind::kWrite, word + static_cast<Address>(index - 2) * 3, 1);
        pass_by(AccessKind::kWrite, word, 8);
      }
    }
  });
  std::uint32_t hidden = 0;
  for (std::size_t index = 0; index < words.size(); ++index) {
    const Address word = words.address(index);
    hidden += is_empty_at_first_sight(word) && has_entries(word) ? 1 : 0;
  }
  EXPECT_EQ(hidden, 0U) << "of " << words.size() << " words";
}

}  // namespace
}  // namespace deadheat::runtime
