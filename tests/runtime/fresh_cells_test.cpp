// SPDX-License-Identifier: Apache-2.0
// Records of many words at once: what they look like, where they end, and that nobody else's record is lost or
// missed beside them.
#include "runtime/fresh_cells.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "base/random.h"
#include "runtime/access_check.h"
#include "runtime/range_check.h"
#include "runtime/sampling.h"
#include "runtime/shadow_memory.h"
#include "runtime/shadow_pages.h"
#include "runtime/stand_in.h"

namespace deadheat::runtime {
namespace {

constexpr Address kStretch = Address{1} << kGranuleShift;
constexpr Address kLoopCode = 0x3000;
const CellEntry kOwn(ShortEpoch(ThreadSlot{1}, 5), 0, AccessKind::kWrite, OriginId{7});

class FreshCells : public testing::Test {
 protected:
  void SetUp() override {
    if (!start_stand_in()) GTEST_SKIP() << "no room for the shadow in this process";
    ASSERT_TRUE(granules.load() != nullptr || map_shadow_pages());
    void* memory = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    begin_ = (reinterpret_cast<Address>(memory) + kStretch - 1) & ~(kStretch - 1);
    ASSERT_TRUE(cover(begin_, kSize - kStretch));
    clear_shadow(begin_, kSize - kStretch);  // other tests may have had this memory
    samples = true;
    period_is_open = true;
  }
  ~FreshCells() override {
    static_cast<void>(drop_granules([](Address, void*) { return Drop::kEmptied; }, nullptr));
    cells_are_given_back(begin_, kSize - kStretch);  // what others keep is counted without these
    samples = false;
    period_is_open = false;
    granules.store(nullptr);  // as other tests have it
    if (current.state != nullptr) publish_epoch(*current.state);
  }
  static constexpr std::size_t kSize = 64 * kStretch;

  static CellEntry entry_of(Address word) { return CellEntry::from_bits(cell_of(word)->entries[0].load()); }
  // The bytes from the beginning on that have a record, as they are in the cells; no other entry is there.
  [[nodiscard]] bool is_recorded(Address byte) const {
    const CellEntry entry = entry_of(byte & ~Address{7});
    EXPECT_EQ(cell_of(byte & ~Address{7})->entries[1].load(), 0U);
    if (entry.is_empty()) return false;
    EXPECT_EQ(entry.without_bytes(0xff), kOwn);
    return (entry.mask() >> (byte & 7) & 1U) != 0;
  }

  Address begin_ = 0;
};

TEST_F(FreshCells, TheBytesOfARangeAreRecordedAndNoOthers) {
  for (const Address size : {Address{1}, Address{3}, Address{8}, Address{9}, Address{21}, kStretch + 5}) {
    for (Address from = 0; from < 8; ++from) {
      const Address begin = begin_ + kStretch - 16 + from;
      EXPECT_EQ(fill_fresh_cells(begin, begin + size, kOwn), begin + size);
      for (Address byte = begin - 16; byte < begin + size + 16; ++byte) {
        EXPECT_EQ(is_recorded(byte), byte >= begin && byte < begin + size)
            << size << ' ' << from << ' ' << byte - begin;
      }
      EXPECT_EQ(drop_granules([](Address, void*) { return Drop::kEmptied; }, nullptr), 0U);
    }
  }
}

TEST_F(FreshCells, ElementsOfALoopAreRecordedAndWhatIsBetweenIsNot) {
  for (const Address step : {Address{8}, Address{24}, kStretch, kStretch + 8}) {
    const Footprint elements{begin_ + 4, step, 12, 4};
    ASSERT_TRUE(has_word_per_element(elements));
    Footprint left = elements;
    while (left.count != 0) {
      const Address filled = fill_fresh_cells(left, kOwn);
      ASSERT_GT(filled, left.begin);
      const std::uint64_t done = (filled - left.begin) / step;
      left.begin = filled;
      left.count -= done < left.count ? done : left.count;
    }
    for (Address byte = begin_; byte < elements.end() + 16; ++byte) {
      const bool is_element = byte >= elements.begin && byte < elements.end() && (byte - elements.begin) % step < 4;
      ASSERT_EQ(is_recorded(byte), is_element) << step << ' ' << byte - begin_;
    }
    EXPECT_EQ(drop_granules([](Address, void*) { return Drop::kEmptied; }, nullptr), 0U);
  }
}

TEST_F(FreshCells, AGranuleWithRecordsIsLeftToOthers) {
  note_record(begin_ + 2 * kStretch + 8);
  EXPECT_EQ(fill_fresh_cells(begin_ + 8, begin_ + 4 * kStretch, kOwn), begin_ + 2 * kStretch);
  EXPECT_FALSE(is_recorded(begin_ + 2 * kStretch));
  EXPECT_EQ(fill_fresh_cells(begin_ + 2 * kStretch, begin_ + 4 * kStretch, kOwn), begin_ + 2 * kStretch);
  EXPECT_EQ(fill_fresh_cells(begin_ + 3 * kStretch, begin_ + 4 * kStretch, kOwn), begin_ + 4 * kStretch);
  EXPECT_TRUE(may_have_records(begin_ + 3 * kStretch));
}

TEST_F(FreshCells, WhoWantsToRecordSomethingWaitsForWhoFills) {
  std::atomic<bool> is_noted{false};
  std::thread other;
  {
    const FreshGranules fresh(begin_, begin_ + 8);
    ASSERT_EQ(fresh.end(), begin_ + kStretch);
    EXPECT_TRUE(may_have_records(begin_));
    other = std::thread([&] {
      note_record(begin_ + 16);
      is_noted = true;
    });
    for (int tries = 0; tries < 1000; ++tries) std::this_thread::yield();
    EXPECT_FALSE(is_noted);
    const FreshGranules again(begin_, begin_ + kStretch + 8);
    EXPECT_EQ(again.end(), begin_);
  }
  other.join();
  EXPECT_TRUE(is_noted);
}

TEST_F(FreshCells, LoopsOfTwoThreadsOverTheSameArrayRaceOnAllOfIt) {
  constexpr std::size_t kWords = 4 * kStretch / 8;
  for (int round = 0; round < 40; ++round) {
    WatchedWords words(kWords);
    samples = false;
    clear_shadow(words.address(0) & ~(kStretch - 1), 8 * kWords + kStretch);  // likewise
    samples = true;
    RoundBarrier start(2);
    run_threads(2, [&](int index) {
      current.cell_mask = 0;  // it joins the period
      start.meet(0);
      // One of them comes from the other side, a piece at a time.
      if (index == 0) {
        check_range(words.address(0), 8, kWords, 8 << 1 | 1, kLoopCode);
      } else {
        for (std::size_t at = kWords; at >= 64; at -= 64)
          check_range(words.address(at - 64), 8, 64, 8 << 1 | 1, kLoopCode + 64);
      }
    });
    for (std::size_t word = 0; word < kWords; ++word) ASSERT_EQ(words.races(word), 1U) << round << ' ' << word;
    EXPECT_EQ(drop_granules([](Address, void*) { return Drop::kEmptied; }, nullptr), 0U);
  }
}

// A new epoch of the current thread, as after the release of a lock.
void begin_epoch() {
  const RuntimeScope scope;
  current.state->clock.advance();
  renew_epoch(*current.state);
}

// The entries of a word, whoever made them from where.
std::vector<std::uint64_t> entries_of(Address word) {
  std::vector<std::uint64_t> entries;
  for (const std::atomic<std::uint64_t>& place : cell_of(word)->entries) {
    EXPECT_FALSE(is_link(place.load()));
    const CellEntry entry = CellEntry::from_bits(place.load());
    if (entry.has_bytes()) entries.push_back(entry.bits() & ~std::uint64_t{CellEntry::kMaxOrigin});
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

// Loops that come again in other epochs, of two threads that read the same and write what is their own: in granules
// that they take for themselves, with what comes of the same accesses word by word.
TEST_F(FreshCells, LoopsThatComeAgainLeaveWhatTheirWordsWouldLeaveOneByOne) {
  constexpr std::size_t kWords = 6 * kStretch / 8;
  for (int round = 0; round < 20; ++round) {
    WatchedWords loops(kWords);
    WatchedWords single(kWords);
    samples = false;
    for (const WatchedWords* words : {&loops, &single}) clear_shadow(words->address(0), 8 * kWords);
    samples = true;
    for (const Address at : {single.address(0), single.address(kWords - 1)}) note_record(at);
    RoundBarrier turns(2);
    const auto access = [&](std::size_t begin, std::size_t end, std::size_t step, bool writes) {
      if (begin >= end) return;
      const std::size_t count = (end - begin + step - 1) / step;
      check_range(loops.address(begin), static_cast<std::int64_t>(8 * step), count, 8 << 1 | (writes ? 1 : 0),
                  kLoopCode);
      for (std::size_t at = begin; at < end; at += step) {
        if (writes) check_first<AccessKind::kWrite, 8>(single.address(at), kLoopCode);
        if (!writes) check_first<AccessKind::kRead, 8>(single.address(at), kLoopCode);
      }
    };
    run_threads(2, [&](int index) {
      current.cell_mask = 0;  // it joins the period
      Random random(static_cast<std::uint64_t>(2 * round + index));
      for (int turn = 0; turn < 24; ++turn) {
        turns.meet(turn);
        if (turn % 2 != index) continue;
        begin_epoch();
        // The middle third is read by both, the others are one's own.
        const std::size_t own = index == 0 ? 0 : kWords / 3 * 2;
        access(own + random.below(20), own + kWords / 3 - random.below(20), 1 + random.below(3), random.below(2) == 0);
        access(kWords / 3 + random.below(20), kWords / 3 * 2 - random.below(20), 1 + random.below(3), false);
        // Now and then one alone, after which the granule is for all.
        if (random.below(8) != 0) continue;
        const std::size_t alone = own + random.below(kWords / 3);
        check_first<AccessKind::kRead, 8>(loops.address(alone), kLoopCode);
        check_first<AccessKind::kRead, 8>(single.address(alone), kLoopCode);
      }
      turns.meet(24);
    });
    for (std::size_t word = 0; word < kWords; ++word) {
      ASSERT_EQ(entries_of(loops.address(word)), entries_of(single.address(word))) << round << ' ' << word;
      ASSERT_EQ(loops.races(word) + single.races(word), 0U) << round << ' ' << word;
    }
    EXPECT_EQ(drop_granules([](Address, void*) { return Drop::kEmptied; }, nullptr), 0U);
  }
}

// Loops of one thread, single accesses of the other, all at once: both are recorded, however they take the granule from
// each other.
TEST_F(FreshCells, ARecordAmongThoseOfLoopsIsNotLost) {
  constexpr std::size_t kWords = 32 * kStretch / 8;
  constexpr std::size_t kStep = 6;
  for (int round = 0; round < 60; ++round) {
    WatchedWords words(kWords);
    samples = false;
    clear_shadow(words.address(0) & ~(kStretch - 1), 8 * kWords + kStretch);
    samples = true;
    RoundBarrier start(2);
    run_threads(2, [&](int index) {
      current.cell_mask = 0;
      if (index == 0) {
        check_range(words.address(0), 16, kWords / 2, 8 << 1, kLoopCode);  // every second one
        begin_epoch();
      }
      start.meet(0);
      if (index == 0) return check_range(words.address(0), 8, kWords, 8 << 1, kLoopCode);
      for (std::size_t at = 1; at < kWords; at += kStep) {
        check_first<AccessKind::kRead, 8>(words.address(at), kLoopCode + 64);
      }
    });
    for (std::size_t word = 0; word < kWords; ++word) {
      ASSERT_EQ(entries_of(words.address(word)).size(), word % kStep == 1 ? 2U : 1U) << round << ' ' << word;
    }
    EXPECT_EQ(drop_granules([](Address, void*) { return Drop::kEmptied; }, nullptr), 0U);
  }
}

}  // namespace
}  // namespace deadheat::runtime
