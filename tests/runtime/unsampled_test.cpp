// SPDX-License-Identifier: Apache-2.0
// Cells that threads which sample and threads which do not work on at once: what is
// recorded stays visible to the inline checks, and what is removed makes room.
#include "runtime/unsampled.h"

#include <gtest/gtest.h>

#include "runtime/access_check.h"
#include "runtime/cell_blocks.h"
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
