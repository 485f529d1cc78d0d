// SPDX-License-Identifier: Apache-2.0
// The reader of /proc/self/maps, and the places that the shadow finds for it.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/shadow_memory.h"
#include "runtime/stand_in.h"
#include "runtime/system.h"

namespace deadheat::runtime {
namespace {

struct Seen {
  Mapping mapping;
  std::string path;
};

std::vector<Seen> all_mappings() {
  std::vector<Seen> result;
  EXPECT_TRUE(for_each_mapping(
      [](const Mapping& mapping, void* context) {
        static_cast<std::vector<Seen>*>(context)->push_back({mapping, mapping.path});
        return true;
      },
      &result));
  return result;
}

const Seen* mapping_of(const std::vector<Seen>& all, const void* at) {
  const auto address = reinterpret_cast<Address>(at);
  for (const Seen& seen : all) {
    if (address >= seen.mapping.begin && address < seen.mapping.end) return &seen;
  }
  return nullptr;
}

TEST(Mappings, AreSortedAndDoNotOverlap) {
  const std::vector<Seen> all = all_mappings();
  ASSERT_GT(all.size(), 5U);
  for (std::size_t index = 1; index < all.size(); ++index) {
    EXPECT_LE(all[index - 1].mapping.end, all[index].mapping.begin);
  }
}

TEST(Mappings, HaveTheirPermissionsAndNames) {
  void* secret = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  int local = 0;
  const std::vector<Seen> all = all_mappings();
  const Seen* code = mapping_of(all, reinterpret_cast<const void*>(&all_mappings));
  ASSERT_NE(code, nullptr);
  EXPECT_TRUE(code->mapping.is_executable && !code->mapping.is_writable);
  EXPECT_EQ(code->path.substr(0, 1), "/") << code->path;
  const Seen* stack = mapping_of(all, &local);
  ASSERT_NE(stack, nullptr);
  EXPECT_TRUE(stack->mapping.is_readable && stack->mapping.is_writable);
  const Seen* hidden = mapping_of(all, secret);
  ASSERT_NE(hidden, nullptr);
  EXPECT_FALSE(hidden->mapping.is_readable || hidden->mapping.is_writable || hidden->mapping.is_executable);
  munmap(secret, 4096);
}

TEST(Mappings, ReadingStopsWhenTheVisitorHasEnough) {
  int visits = 0;
  for_each_mapping([](const Mapping&, void* context) { return ++*static_cast<int*>(context) < 3; }, &visits);
  EXPECT_EQ(visits, 3);
}

// Many mappings, so that lines are cut by the end of the reader's buffer.
TEST(Mappings, NoLineIsLostInALongList) {
  constexpr std::size_t kPages = 600;
  auto* pages = static_cast<char*>(mmap(nullptr, kPages * 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  for (std::size_t page = 0; page < kPages; page += 2) mprotect(pages + page * 4096, 4096, PROT_NONE);
  const std::vector<Seen> all = all_mappings();
  for (std::size_t page = 0; page < kPages; ++page) {
    const Seen* seen = mapping_of(all, pages + page * 4096);
    ASSERT_NE(seen, nullptr) << page;
    ASSERT_EQ(seen->mapping.is_readable, page % 2 == 1) << page;
  }
  munmap(pages, kPages * 4096);
}

class ShadowTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!start_stand_in()) GTEST_SKIP() << "no room for the shadow in this process";
  }
};

int a_global;

TEST_F(ShadowTest, AllKindsOfMemoryHaveCellsOfTheirOwn) {
  int on_stack = 0;
  const std::unique_ptr<int> in_heap(new int);
  const int* places[] = {&a_global, &on_stack, in_heap.get()};
  for (const int* one : places) {
    EXPECT_TRUE(has_shadow(reinterpret_cast<Address>(one), sizeof *one));
    for (const int* other : places) {
      const bool is_same = cell_of(reinterpret_cast<Address>(one)) == cell_of(reinterpret_cast<Address>(other));
      EXPECT_EQ(is_same, one == other);
    }
  }
}

TEST_F(ShadowTest, WordsHaveNeighbouringCells) {
  alignas(8) char bytes[24];
  const auto first = reinterpret_cast<Address>(bytes);
  for (Address byte = 0; byte < 8; ++byte) EXPECT_EQ(cell_of(first + byte), cell_of(first));
  EXPECT_EQ(cell_of(first + 8), cell_of(first) + 1);
  EXPECT_EQ(cell_of(first + 16), cell_of(first) + 2);
}

TEST_F(ShadowTest, CellsAreNotInTheProgramsMappings) {
  for (const Seen& seen : all_mappings()) {
    if (seen.mapping.begin >= kAddressEnd || !seen.mapping.is_writable) continue;
    if (!has_shadow(seen.mapping.begin, 8)) continue;
    const auto cell = reinterpret_cast<Address>(cell_of(seen.mapping.begin));
    EXPECT_NE(cell >> 40, seen.mapping.begin >> 40) << std::hex << seen.mapping.begin;
  }
}

TEST_F(ShadowTest, ClearingForgetsTheWordsOfTheRangeAndNoOthers) {
  for (const std::size_t words : {std::size_t{5}, std::size_t{100'000}}) {
    std::vector<std::uint64_t> memory(words + 2);
    const auto begin = reinterpret_cast<Address>(memory.data());
    for (std::size_t index = 0; index < memory.size(); ++index) {
      cell_of(begin + index * 8)
          ->entries[0]
          .store(CellEntry(ShortEpoch(ThreadSlot{1}, 1), 1, AccessKind::kRead, {}).bits());
    }
    clear_shadow(begin + 8, words * 8);
    EXPECT_NE(cell_of(begin)->entries[0].load(), 0U);
    EXPECT_NE(cell_of(begin + (words + 1) * 8)->entries[0].load(), 0U);
    for (std::size_t index = 1; index <= words; ++index) ASSERT_EQ(cell_of(begin + index * 8)->entries[0].load(), 0U);
    clear_shadow(begin, memory.size() * 8);
  }
}

}  // namespace
}  // namespace deadheat::runtime
