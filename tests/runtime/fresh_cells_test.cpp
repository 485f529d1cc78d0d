// SPDX-License-Identifier: Apache-2.0
// Records of many words at once: what they look like, where they end, and that nobody else's record is lost or
// missed beside them.
#include "runtime/fresh_cells.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <thread>

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
    static_cast<void>(drop_granules([](Address, void*) { return true; }, nullptr));
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
      EXPECT_EQ(drop_granules([](Address, void*) { return true; }, nullptr), 0U);
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
    EXPECT_EQ(drop_granules([](Address, void*) { return true; }, nullptr), 0U);
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
    EXPECT_EQ(drop_granules([](Address, void*) { return true; }, nullptr), 0U);
  }
}

}  // namespace
}  // namespace deadheat::runtime
