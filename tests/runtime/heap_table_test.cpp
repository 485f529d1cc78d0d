// SPDX-License-Identifier: Apache-2.0
#include "runtime/heap_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <thread>
#include <vector>

#include "base/random.h"

namespace deadheat::runtime {
namespace {

// Memory in which blocks with headers lie as an allocator would have them.
class HeapTableTest : public testing::Test {
 protected:
  HeapTableTest() : memory_(kSize / sizeof(Line)) { HeapTable::begin(); }

  [[nodiscard]] Address begin() const { return reinterpret_cast<Address>(memory_.data()); }
  void add(Address block, std::size_t size, std::uint32_t stack) {
    header_of(block) = BlockHeader::of(size, stack, 1, 4);
    HeapTable::add(block);
  }

  static constexpr std::size_t kSize = std::size_t{1} << 21;

 private:
  struct alignas(64) Line {
    unsigned char bytes[64];
  };
  std::vector<Line> memory_;
};

TEST_F(HeapTableTest, AddressesOfABlockLeadToIt) {
  for (const Address offset : {32, 112, 4096, 4096 + 48}) add(begin() + offset, 30, static_cast<std::uint32_t>(offset));
  for (const Address offset : {32, 112, 4096, 4096 + 48}) {
    for (const Address at : {0, 1, 15, 16, 29}) {
      const HeapBlock block = HeapTable::describe(begin() + offset + at);
      EXPECT_EQ(block.kind, HeapKind::kLive);
      EXPECT_EQ(block.begin, begin() + offset);
      EXPECT_EQ(block.size, 30U);
      EXPECT_EQ(block.allocated_stack, offset);
    }
    EXPECT_EQ(HeapTable::describe(begin() + offset + 30).kind, HeapKind::kUnknown);
    EXPECT_EQ(HeapTable::describe(begin() + offset - 1).kind, HeapKind::kUnknown);
  }
  for (const Address offset : {32, 112, 4096, 4096 + 48}) {
    HeapTable::remove(begin() + offset);
    EXPECT_EQ(HeapTable::describe(begin() + offset).kind, HeapKind::kUnknown);
  }
}

TEST_F(HeapTableTest, RandomBlocksAreFoundWhileTheyLive) {
  Random random(3);
  std::map<Address, std::size_t> blocks;
  for (int round = 0; round < 20'000; ++round) {
    const Address block = begin() + 32 + random.next() % (kSize / 16 - 300) * 16;
    const std::size_t size = random.next() % 200;
    const auto after = blocks.lower_bound(block);
    // As close as an allocator gets: the header of the next one behind the end, and 32 bytes at least.
    const Address end = block + (size < 16 ? 16 : (size + 15) / 16 * 16);
    const bool has_room = (after == blocks.end() || after->first >= end + 16) && (after == blocks.begin() || [&] {
                            const auto& [begin, bytes] = *std::prev(after);
                            return begin + (bytes < 16 ? 16 : (bytes + 15) / 16 * 16) + 16 <= block;
                          }());
    if (has_room) {
      add(block, size, static_cast<std::uint32_t>(round) + 1);
      blocks[block] = size;
    } else if (after != blocks.end() && round % 2 == 0) {
      HeapTable::remove(after->first);
      blocks.erase(after);
    }
    const Address asked = begin() + 32 + random.next() % (kSize - 4096);
    const auto next = blocks.upper_bound(asked);
    const bool is_inside = next != blocks.begin() && (asked - std::prev(next)->first < std::prev(next)->second ||
                                                      asked == std::prev(next)->first);
    const HeapBlock found = HeapTable::describe(asked);
    ASSERT_EQ(found.kind == HeapKind::kLive, is_inside) << "round " << round;
    if (is_inside) {
      ASSERT_EQ(found.begin, std::prev(next)->first) << "round " << round;
    }
  }
  for (const auto& [block, size] : blocks) HeapTable::remove(block);
}

// The header must not be read when remove() has returned.
TEST_F(HeapTableTest, NobodyReadsTheHeaderOfABlockThatWasRemoved) {
  std::atomic<bool> is_over{false};
  const Address block = begin() + 4096;
  std::thread describer([&] {
    while (!is_over.load()) {
      const HeapBlock found = HeapTable::describe(block + 8);
      if (found.kind == HeapKind::kLive) {
        EXPECT_EQ(found.size, 64U);
      }
    }
  });
  for (int round = 0; round < 20'000; ++round) {
    add(block, 64, 1);
    HeapTable::remove(block);
    header_of(block) = BlockHeader::of(7777, 1, 1, 4);  // somebody else's now
  }
  is_over.store(true);
  describer.join();
}

}  // namespace
}  // namespace deadheat::runtime
