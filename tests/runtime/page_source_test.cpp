// SPDX-License-Identifier: Apache-2.0
#include "runtime/page_source.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

namespace deadheat::runtime {
namespace {

TEST(PageSource, BlocksOfAllSizesDoNotOverlap) {
  struct Block {
    unsigned char* memory;
    std::size_t bytes;
  };
  std::vector<Block> blocks;
  for (std::size_t bytes = 1; bytes <= 200'000; bytes = bytes * 3 / 2 + 1) {
    for (int copy = 0; copy < 3; ++copy) {
      auto* memory = static_cast<unsigned char*>(PageSource::allocate(bytes));
      ASSERT_NE(memory, nullptr);
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 16, 0U) << bytes;
      std::memset(memory, static_cast<int>(blocks.size() % 251), bytes);
      blocks.push_back({memory, bytes});
    }
  }
  for (std::size_t index = 0; index < blocks.size(); ++index) {
    for (std::size_t at = 0; at < blocks[index].bytes; ++at) ASSERT_EQ(blocks[index].memory[at], index % 251);
    PageSource::release(blocks[index].memory, blocks[index].bytes);
  }
}

TEST(PageSource, ReleasedBlocksAreUsedAgain) {
  const std::size_t before = PageSource::mapped();
  for (int round = 0; round < 100'000; ++round) PageSource::release(PageSource::allocate(1000), 1000);
  EXPECT_LT(PageSource::mapped() - before, 10'000'000U);
}

TEST(PageSource, ReservedSpaceIsZeroAndNotPaidFor) {
  auto* space = static_cast<unsigned char*>(PageSource::reserve(std::size_t{1} << 36));
  ASSERT_NE(space, nullptr);
  EXPECT_EQ(space[(std::size_t{1} << 36) - 1], 0);
  space[std::size_t{1} << 35] = 1;
}

TEST(PageSource, WhatTheSystemCannotGiveIsRefused) {
  EXPECT_EQ(PageSource::reserve(std::size_t{1} << 60), nullptr);
  EXPECT_EQ(PageSource::try_allocate(std::size_t{1} << 60), nullptr);
}

TEST(PageSource, ThreadsNeverGetTheSameBlock) {
  std::vector<std::jthread> threads;
  std::vector<int> wrong(4);
  for (std::size_t index = 0; index < wrong.size(); ++index) {
    threads.emplace_back([&, index] {
      for (int round = 0; round < 20'000; ++round) {
        auto* one = static_cast<std::size_t*>(PageSource::allocate(64));
        auto* two = static_cast<std::size_t*>(PageSource::allocate(64));
        *one = index * 2;
        *two = index * 2 + 1;
        if (round % 16 == 0) std::this_thread::yield();
        wrong[index] += *one == index * 2 && *two == index * 2 + 1 ? 0 : 1;
        PageSource::release(one, 64);
        PageSource::release(two, 64);
      }
    });
  }
  threads.clear();
  for (const int count : wrong) EXPECT_EQ(count, 0);
}

}  // namespace
}  // namespace deadheat::runtime
