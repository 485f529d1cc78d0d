// SPDX-License-Identifier: Apache-2.0
// The lock-free protocol of on_access.cpp under contention: of two unordered
// conflicting accesses to a word at least one is told of the other, however they
// meet. Every word is met on once, so every miss shows.
#include <gtest/gtest.h>

#include "runtime/access_check.h"
#include "runtime/cell_blocks.h"
#include "runtime/cell_chains.h"
#include "runtime/racy_words.h"
#include "runtime/shadow_memory.h"
#include "runtime/stand_in.h"

namespace deadheat::runtime {
namespace {

// Waiting for all threads takes long when others need the cores.
constexpr int kRounds = 20'000;
constexpr int kRoundsOfMany = 2000;
constexpr int kTogether = 4;  // rounds between two waits
constexpr Address kFirstCode = 0x1000;

class CellsAtOnce : public testing::Test {
 protected:
  void SetUp() override {
    if (!start_stand_in()) GTEST_SKIP() << "no room for the shadow in this process";
  }
};

// One access, by index of the thread.
using Access = void (*)(Address word, int index);

template <AccessKind kKind, std::size_t kSize>
void touch(Address word, std::size_t offset, int index) {
  check_first<kKind, kSize>(word + offset, kFirstCode + static_cast<Address>(index) * 64 + offset);
}

// All threads access each word once, at about the same moment.
void expect_races_at_once(int threads, Access access, std::uint32_t least, std::uint32_t most) {
  WatchedWords words(static_cast<std::size_t>(threads == 2 ? kRounds : kRoundsOfMany));
  RoundBarrier barrier(threads);
  run_threads(threads, [&](int index) {
    for (int round = 0; round < static_cast<int>(words.size()); ++round) {
      if (round % kTogether == 0) barrier.meet(round / kTogether);
      access(words.address(static_cast<std::size_t>(round)), index);
    }
  });
  std::uint32_t missed = 0;
  std::uint32_t too_many = 0;
  for (std::size_t index = 0; index < words.size(); ++index) {
    missed += words.races(index) < least ? 1 : 0;
    too_many += words.races(index) > most ? 1 : 0;
  }
  EXPECT_EQ(missed, 0U) << "of " << words.size() << " words with fewer than " << least << " races";
  EXPECT_EQ(too_many, 0U) << "of " << words.size() << " words with more than " << most << " races";
}

TEST_F(CellsAtOnce, TwoWritersAlwaysMeet) {
  expect_races_at_once(2, [](Address word, int index) { touch<AccessKind::kWrite, 8>(word, 0, index); }, 1, 2);
}

TEST_F(CellsAtOnce, ReaderAndWriterAlwaysMeet) {
  expect_races_at_once(
      2,
      [](Address word, int index) {
        index == 0 ? touch<AccessKind::kWrite, 8>(word, 0, index) : touch<AccessKind::kRead, 8>(word, 0, index);
      },
      1, 2);
}

TEST_F(CellsAtOnce, ByteAndWordAlwaysMeet) {
  expect_races_at_once(
      2,
      [](Address word, int index) {
        index == 0 ? touch<AccessKind::kWrite, 1>(word, 5, index) : touch<AccessKind::kRead, 4>(word, 4, index);
      },
      1, 2);
}

TEST_F(CellsAtOnce, NeighboursNeverMeet) {
  expect_races_at_once(
      2,
      [](Address word, int index) { touch<AccessKind::kWrite, 4>(word, static_cast<std::size_t>(index) * 4, index); },
      0, 0);
}

// Three bytes of their own and a fourth thread that reads all: cells grow while
// others look at them.
TEST_F(CellsAtOnce, ReaderMeetsEachOfThreeByteWriters) {
  expect_races_at_once(
      4,
      [](Address word, int index) {
        index == 3 ? touch<AccessKind::kRead, 8>(word, 0, index)
                   : touch<AccessKind::kWrite, 1>(word, static_cast<std::size_t>(index) * 2, index);
      },
      3, 6);
}

// Four readers whose entries do not fit into the cell, and a writer of the whole
// word that throws the chain away.
TEST_F(CellsAtOnce, WriterThatCollapsesMeetsEachOfFourReaders) {
  expect_races_at_once(
      5,
      [](Address word, int index) {
        index == 4 ? touch<AccessKind::kWrite, 8>(word, 0, index)
                   : touch<AccessKind::kRead, 2>(word, static_cast<std::size_t>(index) * 2, index);
      },
      4, 8);
}

// Two writers collapse the same chain: readers may be reported by either, the
// writers must see one another.
TEST_F(CellsAtOnce, TwoCollapsingWritersAndTwoReaders) {
  expect_races_at_once(
      4,
      [](Address word, int index) {
        index >= 2 ? touch<AccessKind::kWrite, 8>(word, 0, index)
                   : touch<AccessKind::kRead, 4>(word, static_cast<std::size_t>(index) * 4, index);
      },
      3, 12);
}

TEST_F(CellsAtOnce, EveryOneOfEightReadersIsInTheChain) {
  WatchedWords words(2000);
  RoundBarrier barrier(8);
  RoundBarrier written(9);
  run_threads(9, [&](int index) {
    const int rounds = static_cast<int>(words.size()) / 50;
    for (int round = 0; round < rounds && index < 8; ++round) {
      barrier.meet(round);
      for (int i = round * 50; i < (round + 1) * 50; ++i) {
        touch<AccessKind::kRead, 8>(words.address(static_cast<std::size_t>(i)), 0, index);
      }
    }
    written.meet(0);
    for (std::size_t i = 0; i < words.size() && index == 8; ++i) {
      touch<AccessKind::kWrite, 8>(words.address(i), 0, index);
    }
  });
  for (std::size_t i = 0; i < words.size(); ++i) ASSERT_EQ(words.races(i), 8U) << "word " << i;
}

// A word is marked while others access it, as it is when a race was found on it: no race is
// lost, and none is seen that is not there.
TEST_F(CellsAtOnce, WritersMeetWhileTheirWordIsMarked) {
  const auto access = [](Address word, int index) {
    if (index == 2) {
      static_cast<void>(mark_cell(*current.state, *cell_of(word), CellEntry::counting(1024)));
    } else {
      touch<AccessKind::kWrite, 8>(word, 0, index);
    }
  };
  expect_races_at_once(3, access, 1, 2);
}

TEST_F(CellsAtOnce, CollapsingWriterMeetsItsReadersWhileTheirWordIsMarked) {
  const auto access = [](Address word, int index) {
    if (index == 3) {
      static_cast<void>(mark_cell(*current.state, *cell_of(word), CellEntry::counting(1024)));
    } else if (index == 2) {
      touch<AccessKind::kWrite, 8>(word, 0, index);
    } else {
      touch<AccessKind::kRead, 4>(word, static_cast<std::size_t>(index) * 4, index);
    }
  };
  expect_races_at_once(4, access, 2, 4);
}

// In one epoch and of several threads, in bytes of the race and in others.
TEST_F(CellsAtOnce, EachAccessOfAMarkedWordIsCountedOnce) {
  constexpr int kThreads = 4;
  constexpr std::uint32_t kTimes = 1000;
  WatchedWords words(1);
  const std::uint32_t number = number_racy_word(words.address(0), 0x0f);
  ASSERT_NE(number, 0U);
  begin_counting(*current.state, words.address(0), number);
  EXPECT_EQ(number_racy_word(words.address(0), 0x0f), number) << "it is marked already";
  run_threads(kThreads, [&](int index) {
    for (std::uint32_t time = 0; time < kTimes; ++time) {
      touch<AccessKind::kRead, 4>(words.address(0), 0, index);
      touch<AccessKind::kRead, 4>(words.address(0), 4, index);
    }
  });
  const RacyWordCounts counts = counts_of_last_racy_word();
  EXPECT_EQ(counts.number, number);
  EXPECT_EQ(counts.accesses, kThreads * kTimes);
  EXPECT_EQ(counts.without_lock, kThreads * kTimes);
  EXPECT_EQ(words.races(0), 0U);
}

TEST_F(CellsAtOnce, BlocksComeBackWhenTheirWordsAreWritten) {
  const std::uint64_t before = blocks_in_use();
  {
    WatchedWords words(1000);
    for (int repeat = 0; repeat < 3; ++repeat) {
      run_threads(4, [&](int index) {
        for (std::size_t i = 0; i < words.size(); ++i) touch<AccessKind::kRead, 8>(words.address(i), 0, index);
      });
      run_threads(1, [&](int index) {
        for (std::size_t i = 0; i < words.size(); ++i) touch<AccessKind::kWrite, 8>(words.address(i), 0, index);
      });
    }
  }
  EXPECT_LT(blocks_in_use(), before + 300) << "3000 chains were made and collapsed";
}

}  // namespace
}  // namespace deadheat::runtime
