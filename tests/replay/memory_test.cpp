// SPDX-License-Identifier: Apache-2.0
// What emulated memory remembers, and when it must forget.
#include <gtest/gtest.h>

#include <vector>

#include "replay/rebuild.h"

namespace deadheat::replay {
namespace {

constexpr std::uint64_t kFirstByte = 0x1000;
constexpr std::uint64_t kObject = 0x500000;

// rdi points to the object, rsp to the stack; the path goes through all of the code once.
RebuiltThread rebuilt(const std::vector<std::uint8_t>& code, const std::vector<std::uint64_t>& offsets,
                      const RebuildOptions& options = {}) {
  CodeSpace space;
  space.add(kFirstByte, std::as_bytes(std::span(code)));
  RecordedThread thread;
  RegisterSample sample;
  sample.position = 0;
  sample.registers.ip = kFirstByte;
  sample.registers.general[static_cast<std::size_t>(Register::kRdi)] = kObject;
  sample.registers.general[static_cast<std::size_t>(Register::kRsp)] = 0x7fff0000;
  sample.registers.general[static_cast<std::size_t>(Register::kRax)] = 0x600000;
  thread.samples.push_back(sample);
  thread.path.emplace_back();
  for (const std::uint64_t offset : offsets) thread.path.back().code.push_back(kFirstByte + offset);
  return rebuild(space, thread, 0, 1, options);
}

// mov [rdi], rax; X; mov rcx, [rdi]; mov edx, [rcx]
std::vector<std::uint8_t> store_and_reload(const std::vector<std::uint8_t>& between) {
  std::vector<std::uint8_t> code = {0x48, 0x89, 0x07};
  code.insert(code.end(), between.begin(), between.end());
  for (const int byte : {0x48, 0x8b, 0x0f, 0x8b, 0x11}) code.push_back(static_cast<std::uint8_t>(byte));
  return code;
}

std::vector<std::uint64_t> path_over(std::uint64_t between) { return {0, 3, 3 + between, 6 + between}; }

TEST(EmulatedMemory, GivesBackWhatWasStored) {
  // nop in between
  const auto result = rebuilt(store_and_reload({0x90}), path_over(1));
  ASSERT_EQ(result.accesses.size(), 3U);
  EXPECT_EQ(result.accesses[2].address, 0x600000U);
  EXPECT_EQ(result.counts.rebuilt_memory, 1U);
}

TEST(EmulatedMemory, IsForgottenAtSystemCallsAndFences) {
  // syscall; mfence
  EXPECT_EQ(rebuilt(store_and_reload({0x0f, 0x05}), path_over(2)).counts.rebuilt_memory, 0U);
  EXPECT_EQ(rebuilt(store_and_reload({0x0f, 0xae, 0xf0}), path_over(3)).counts.rebuilt_memory, 0U);
  // lock add [rsp], eax
  EXPECT_EQ(rebuilt(store_and_reload({0xf0, 0x01, 0x04, 0x24}), path_over(4)).counts.rebuilt_memory, 0U);
}

TEST(EmulatedMemory, LoadsFromElsewhereMayBeAnAcquire) {
  // mov ebx, [rsi]: somebody else's flag
  EXPECT_EQ(rebuilt(store_and_reload({0x8b, 0x1e}), path_over(2)).counts.rebuilt_memory, 0U);
}

TEST(EmulatedMemory, RacyPlacesAreNeverEmulated) {
  RebuildOptions options;
  options.racy = {{kObject + 4, kObject + 5}};
  EXPECT_EQ(rebuilt(store_and_reload({0x90}), path_over(1), options).counts.rebuilt_memory, 0U);
  options.racy = {{kObject + 8, kObject + 9}};
  EXPECT_EQ(rebuilt(store_and_reload({0x90}), path_over(1), options).counts.rebuilt_memory, 1U);
}

TEST(EmulatedMemory, ContradictionWithThePathMeansRegeneration) {
  // mov [rdi], rax; mov rcx, [rdi]; test rcx, rcx; jz +2; mov edx, [rcx]: the path took the jump.
  const std::vector<std::uint8_t> code = {0x48, 0x89, 0x07, 0x48, 0x8b, 0x0f, 0x48, 0x85,
                                          0xc9, 0x74, 0x02, 0x8b, 0x11, 0x8b, 0x07};
  const auto result = rebuilt(code, {0, 3, 6, 9, 13});
  EXPECT_EQ(result.counts.regenerated, 1U);
  EXPECT_EQ(result.counts.conflicts, 0U);
  EXPECT_EQ(result.accesses.size(), 3U);
}

}  // namespace
}  // namespace deadheat::replay
