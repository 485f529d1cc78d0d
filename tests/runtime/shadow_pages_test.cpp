// SPDX-License-Identifier: Apache-2.0
// Where records may be, in a process that samples: granules are noted, dropped, kept and
// given back.
#include "runtime/shadow_pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <thread>

#include "runtime/sampling.h"
#include "runtime/shadow_memory.h"
#include "runtime/stand_in.h"

namespace deadheat::runtime {
namespace {

constexpr Address kGranule = Address{1} << kGranuleShift;

class ShadowPages : public testing::Test {
 protected:
  void SetUp() override {
    if (!start_stand_in()) GTEST_SKIP() << "no room for the shadow in this process";
    ASSERT_TRUE(granules.load() != nullptr || map_shadow_pages());
    samples = true;
    size_ = 10000 * kGranule;  // more than are kept
    void* memory = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    begin_ = (reinterpret_cast<Address>(memory) + kGranule - 1) & ~(kGranule - 1);
    ASSERT_TRUE(cover(begin_, size_));
  }
  ~ShadowPages() override {
    static_cast<void>(drop_granules([](Address, void*) { return Drop::kEmptied; }, nullptr));
    cells_are_given_back(begin_, size_);  // what others keep is counted without these
    samples = false;
    granules.store(nullptr);  // as other tests have it
  }

  Address granule(std::size_t number) const { return begin_ + number * kGranule; }
  // As an access does that is recorded.
  void put_record(Address word) {
    note_record(word);
    cell_of(word)->entries[1].store(7, std::memory_order_relaxed);
    cell_of(word)->entries[0].store(7, std::memory_order_relaxed);
  }
  static bool is_empty(Address word) {
    return cell_of(word)->entries[0].load(std::memory_order_relaxed) == 0 &&
           cell_of(word)->entries[1].load(std::memory_order_relaxed) == 0;
  }
  static std::uint32_t drop_all() {
    return drop_granules([](Address, void*) { return Drop::kEmptied; }, nullptr);
  }
  static std::uint32_t make_all_stale() {
    return drop_granules([](Address, void*) { return Drop::kStale; }, nullptr);
  }
  // By two threads, in other words of the same granules.
  void record_at_once(std::size_t granules) {
    std::atomic<int> ready{0};
    const auto record = [&](Address offset) {
      ready.fetch_add(1);
      while (ready.load() < 2) {
      }
      for (std::size_t at = 0; at < granules; ++at) put_record(granule(at) + offset);
    };
    std::thread other([&] { record(8); });
    record(16);
    other.join();
    for (std::size_t at = 0; at < granules; ++at) {
      ASSERT_FALSE(is_empty(granule(at) + 8)) << at;
      ASSERT_FALSE(is_empty(granule(at) + 16)) << at;
      ASSERT_TRUE(is_empty(granule(at))) << at;
    }
  }
  // Whether the page of cells is there.
  static bool is_resident(Address word) {
    unsigned char page = 0;
    const Address cells = reinterpret_cast<Address>(cell_of(word)) & ~Address{4095};
    return mincore(reinterpret_cast<void*>(cells), 4096, &page) == 0 && (page & 1) != 0;
  }

  Address begin_ = 0;
  std::size_t size_ = 0;
};

TEST_F(ShadowPages, OnlyNotedGranulesMayHaveRecords) {
  EXPECT_FALSE(may_have_records(granule(0), 4 * kGranule));
  put_record(granule(2) + 8);
  EXPECT_FALSE(may_have_records(granule(0), 2 * kGranule));
  EXPECT_TRUE(may_have_records(granule(2)));
  EXPECT_TRUE(may_have_records(granule(1) + 8, 2 * kGranule));
  EXPECT_FALSE(may_have_records(granule(3)));
}

TEST_F(ShadowPages, DroppedGranulesAreEmptyAndTheirPagesStay) {
  put_record(granule(0));
  put_record(granule(5) + kGranule - 8);
  EXPECT_EQ(drop_all(), 0U);
  EXPECT_FALSE(may_have_records(granule(0), 6 * kGranule));
  EXPECT_TRUE(is_resident(granule(0)));
  EXPECT_TRUE(is_empty(granule(0)));
  EXPECT_TRUE(is_empty(granule(5) + kGranule - 8));
  // And again, with the page that was kept.
  put_record(granule(0));
  EXPECT_TRUE(may_have_records(granule(0)));
  EXPECT_EQ(drop_all(), 0U);
  EXPECT_TRUE(is_empty(granule(0)));
}

TEST_F(ShadowPages, PagesAreKeptAsLongAsPeriodsUseThem) {
  const auto count_resident = [&] {
    std::size_t resident = 0;
    for (std::size_t at = 0; at < 5900; ++at) resident += is_resident(granule(at)) ? 1 : 0;
    return resident;
  };
  for (int period = 0; period < 3; ++period) {
    for (std::size_t at = 0; at < 5900; ++at) put_record(granule(at));
    EXPECT_EQ(drop_all(), 0U);
    EXPECT_EQ(count_resident(), 5900U);
    for (std::size_t at = 0; at < 5900; ++at) ASSERT_TRUE(is_empty(granule(at))) << at;
    EXPECT_FALSE(may_have_records(granule(0), 5900 * kGranule));
  }
  for (int period = 0; period < 100; ++period) {
    put_record(granule(17));
    EXPECT_EQ(drop_all(), 0U);
  }
  EXPECT_LE(count_resident(), 4096U);
  EXPECT_TRUE(is_resident(granule(17)));
  for (std::size_t at = 0; at < 5900; ++at) ASSERT_TRUE(is_empty(granule(at))) << at;
}

TEST_F(ShadowPages, PagesNearARecordComeWithItAndHaveNone) {
  const std::size_t first = (16 - (begin_ >> kGranuleShift) % 16) % 16;  // of a window
  put_record(granule(first + 1));
  put_record(granule(first + 3));
  for (std::size_t at = first; at < first + 16; ++at) {
    EXPECT_TRUE(is_resident(granule(at)));
    EXPECT_EQ(may_have_records(granule(at)), at == first + 1 || at == first + 3);
  }
  EXPECT_FALSE(is_resident(granule(first + 16)));
  EXPECT_FALSE(is_empty(granule(first + 1)));
  EXPECT_FALSE(is_empty(granule(first + 3)));
}

TEST_F(ShadowPages, AnEmptiedGranuleHasNoRecords) {
  put_record(granule(0));
  put_record(granule(0) + kGranule - 8);
  clear_shadow(granule(0), 8);
  note_emptied(granule(0));
  EXPECT_TRUE(may_have_records(granule(0)));
  clear_shadow(granule(0) + kGranule - 8, 8);
  note_emptied(granule(0));
  EXPECT_FALSE(may_have_records(granule(0)));
  // And again.
  put_record(granule(0));
  EXPECT_TRUE(may_have_records(granule(0)));
  EXPECT_EQ(drop_all(), 0U);
  EXPECT_TRUE(is_empty(granule(0)));
}

TEST_F(ShadowPages, WhatIsStaleIsNoRecordAndGoesBeforeTheNextOne) {
  put_record(granule(0) + 16);
  put_record(granule(1) + 16);
  put_record(granule(2) + 16);
  EXPECT_EQ(make_all_stale(), 0U);
  EXPECT_FALSE(may_have_records(granule(0), 3 * kGranule));
  EXPECT_FALSE(is_empty(granule(0) + 16));  // nobody has taken the trouble
  // A new record.
  note_record(granule(0) + 64);
  EXPECT_TRUE(may_have_records(granule(0)));
  EXPECT_TRUE(is_empty(granule(0) + 16));
  // A check that finds the old one.
  EXPECT_TRUE(empty_if_stale(granule(1) + 16));
  EXPECT_FALSE(empty_if_stale(granule(1) + 16));
  EXPECT_FALSE(may_have_records(granule(1)));
  EXPECT_TRUE(is_empty(granule(1) + 16));
  // Records of a whole loop.
  {
    const FreshGranules fresh(granule(1), granule(4));
    EXPECT_EQ(fresh.end(), granule(4));
    EXPECT_TRUE(is_empty(granule(2) + 16));
  }
  EXPECT_TRUE(may_have_records(granule(2)));
  EXPECT_FALSE(empty_if_stale(granule(0)));
}

TEST_F(ShadowPages, StalePagesAreGivenBackLikeOthers) {
  const auto count_resident = [&] {
    std::size_t resident = 0;
    for (std::size_t at = 0; at < 5900; ++at) resident += is_resident(granule(at)) ? 1 : 0;
    return resident;
  };
  for (std::size_t at = 0; at < 5900; ++at) put_record(granule(at));
  EXPECT_EQ(make_all_stale(), 0U);
  EXPECT_EQ(count_resident(), 5900U);
  for (int period = 0; period < 100; ++period) {
    put_record(granule(17));
    EXPECT_EQ(make_all_stale(), 0U);
  }
  EXPECT_LE(count_resident(), 4096U);
  for (std::size_t at = 0; at < 5900; ++at) {
    note_record(granule(at) + 8);
    ASSERT_TRUE(is_empty(granule(at))) << at;
  }
}

TEST_F(ShadowPages, ALinkIsNotedUntilTheRecordsGo) {
  put_record(granule(0));
  EXPECT_FALSE(has_chains(granule(0)));
  EXPECT_TRUE(note_chain(granule(0) + 8));
  EXPECT_TRUE(note_chain(granule(0) + 16));
  EXPECT_TRUE(has_chains(granule(0)));
  note_record(granule(0) + 8);
  EXPECT_TRUE(has_chains(granule(0)));
  EXPECT_TRUE(may_have_records(granule(0)));
  EXPECT_EQ(drop_all(), 0U);
  EXPECT_FALSE(has_chains(granule(0)));
  EXPECT_FALSE(note_chain(granule(0)));
}

// A process may live for years.
TEST_F(ShadowPages, ListsDoNotGrowWithEachPeriod) {
  for (int period = 0; period < 1000; ++period) {
    for (std::size_t at = 0; at < 64; ++at) put_record(granule(at));
    EXPECT_EQ(make_all_stale(), 0U);
  }
  EXPECT_LE(spares_listed(), 4096U);
  // As with records that stay, some of which checks remove.
  put_record(granule(1));
  for (int period = 0; period < 1000; ++period) {
    put_record(granule(0));
    if (period % 4 == 0) sweep_granules([](Address at) { return is_empty(at); });
    clear_shadow(granule(0), 8);
    note_emptied(granule(0));
  }
  EXPECT_LE(granules_with_records(), 16U);
}

// Mappings with pages that are kept come and go: what is counted is what is there.
TEST_F(ShadowPages, WhatGoesWithItsMappingIsNotCountedForEver) {
  const Address table_page = Address{4096} << kGranuleShift;
  const Address begin = (begin_ + table_page - 1) & ~(table_page - 1);
  if (begin + table_page > begin_ + size_) GTEST_SKIP() << "no page of the table lies in the mapping";
  for (int period = 0; period < 3; ++period) {
    for (std::size_t at = 0; at < 4000; ++at) put_record(begin + at * kGranule);
    EXPECT_EQ(make_all_stale(), 0U);
    cells_are_given_back(begin, table_page);
  }
  // Few enough to be kept.
  for (int period = 0; period < 3; ++period) {
    for (std::size_t at = 0; at < 100; ++at) put_record(granule(at));
    EXPECT_EQ(make_all_stale(), 0U);
    for (std::size_t at = 0; at < 100; ++at) ASSERT_TRUE(is_resident(granule(at))) << period << ' ' << at;
  }
}

// Both threads record in granules that have no page of cells yet.
TEST_F(ShadowPages, NoRecordGoesWithThePagesOfZeros) {
  constexpr std::size_t kGranules = 128;
  for (int round = 0; round < 40; ++round) {
    cells_are_given_back(granule(0), kGranules * kGranule);
    record_at_once(kGranules);
    ASSERT_EQ(drop_all(), 0U);
  }
}

// Both threads record in granules that are stale, at the same time: no record is lost to the other's emptying.
TEST_F(ShadowPages, NoRecordIsEmptiedWithWhatIsStale) {
  constexpr std::size_t kGranules = 64;
  for (int round = 0; round < 300; ++round) {
    for (std::size_t at = 0; at < kGranules; ++at) put_record(granule(at));
    ASSERT_EQ(make_all_stale(), 0U);
    record_at_once(kGranules);
    ASSERT_EQ(drop_all(), 0U);
  }
}

TEST_F(ShadowPages, AGranuleThatMustStayKeepsItsRecords) {
  for (std::size_t at = 0; at < 8; ++at) put_record(granule(at));
  Address kept = granule(3);
  const std::uint32_t left = drop_granules(
      [](Address at, void* stays) { return at != *static_cast<Address*>(stays) ? Drop::kEmptied : Drop::kNo; }, &kept);
  EXPECT_GE(left, 1U);
  EXPECT_TRUE(may_have_records(kept));
  EXPECT_FALSE(is_empty(kept));
  EXPECT_EQ(drop_all(), 0U);
  EXPECT_TRUE(is_empty(kept));
}

}  // namespace
}  // namespace deadheat::runtime
