// SPDX-License-Identifier: Apache-2.0
#include "runtime/cell_blocks.h"

#include "runtime/page_source.h"
#include "runtime/thread_registry.h"

namespace deadheat::runtime {
namespace {

constexpr std::uint32_t kCapacity = 1U << 30;
constexpr int kNumberBits = 30;
constexpr std::uint32_t kReclaimAt = 64;
constexpr std::uint32_t kSpareBlocks = 128;  // per thread
constexpr std::uint32_t kGenerationsAtOnce = 256;

std::atomic<CellBlock*> blocks{nullptr};
std::atomic<std::uint32_t> next_block{1};
std::atomic<std::uint64_t> free_blocks{0};  // number of the first, and a count of changes above it
std::atomic<std::uint64_t> generation{0};
std::atomic<std::uint64_t> in_use{0};

CellBlock* all_blocks() {
  CellBlock* begin = blocks.load(std::memory_order_acquire);
  if (begin != nullptr) [[likely]]
    return begin;
  void* fresh = PageSource::reserve(std::size_t{kCapacity} * sizeof(CellBlock));
  if (fresh == nullptr) return nullptr;
  if (!blocks.compare_exchange_strong(begin, static_cast<CellBlock*>(fresh), std::memory_order_acq_rel)) {
    raw_munmap(fresh, std::size_t{kCapacity} * sizeof(CellBlock));
    return begin;
  }
  return static_cast<CellBlock*>(fresh);
}

std::uint32_t number_of(std::uint64_t link) { return static_cast<std::uint32_t>(link & (kCapacity - 1)); }

std::uint32_t pop_free(CellBlock* begin) {
  std::uint64_t head = free_blocks.load(std::memory_order_acquire);
  while (static_cast<std::uint32_t>(head) != 0) {
    const std::uint64_t next = begin[static_cast<std::uint32_t>(head)].entries[0].load(std::memory_order_relaxed);
    const std::uint64_t changed = (((head >> 32) + 1) << 32) | static_cast<std::uint32_t>(next);
    if (free_blocks.compare_exchange_weak(head, changed, std::memory_order_acquire)) {
      return static_cast<std::uint32_t>(head);
    }
  }
  return 0;
}

void push_free(std::uint32_t number) {
  CellBlock* begin = all_blocks();
  std::uint64_t head = free_blocks.load(std::memory_order_relaxed);
  std::uint64_t changed = 0;
  do {
    begin[number].entries[0].store(static_cast<std::uint32_t>(head), std::memory_order_relaxed);
    changed = (((head >> 32) + 1) << 32) | number;
  } while (!free_blocks.compare_exchange_weak(head, changed, std::memory_order_release, std::memory_order_relaxed));
  in_use.fetch_sub(1, std::memory_order_relaxed);
}

// 0 if there is none.
std::uint32_t take_block(ThreadState& self, CellBlock* begin) {
  if (!self.spare_blocks.empty()) {
    const std::uint32_t number = self.spare_blocks[self.spare_blocks.size() - 1];
    self.spare_blocks.resize(self.spare_blocks.size() - 1);
    return number;
  }
  std::uint32_t number = pop_free(begin);
  if (number == 0) {
    number = next_block.fetch_add(1, std::memory_order_relaxed);
    if (number >= kCapacity) return 0;
  }
  in_use.fetch_add(1, std::memory_order_relaxed);
  return number;
}

// Nobody else is changing a block at this moment, so nobody can be changing one
// that was unlinked before.
bool all_are_done(const ThreadState& self) {
  for (ThreadState* thread = registry().first(); thread != nullptr; thread = thread->next) {
    if (thread != &self && thread->uses_block.load(std::memory_order_seq_cst)) return false;
  }
  return true;
}

void reclaim(ThreadState& self) {
  RuntimeScope scope;
  SpinHolder hold(registry().lock);
  if (!all_are_done(self)) return;
  for (const std::uint32_t number : self.unlinked_blocks) {
    if (self.spare_blocks.size() < kSpareBlocks) {
      self.spare_blocks.push_back(number);
    } else {
      push_free(number);
    }
  }
  self.unlinked_blocks.clear();
  for (const std::uint32_t number : registry().orphaned_blocks) push_free(number);
  registry().orphaned_blocks.clear();
}

}  // namespace

CellBlock* block_of(std::uint64_t link) { return blocks.load(std::memory_order_relaxed) + number_of(link); }

std::uint64_t make_block(ThreadState& self, std::uint64_t first, std::uint64_t second) {
  CellBlock* begin = all_blocks();
  if (begin == nullptr) return 0;
  const std::uint32_t number = take_block(self, begin);
  if (number == 0) return 0;
  CellBlock& block = begin[number];
  block.entries[0].store(first, std::memory_order_relaxed);
  block.entries[1].store(second, std::memory_order_relaxed);
  for (int index = 2; index < CellBlock::kEntries; ++index) block.entries[index].store(0, std::memory_order_relaxed);
  if (self.generation % kGenerationsAtOnce == 0) {
    self.generation = generation.fetch_add(kGenerationsAtOnce, std::memory_order_relaxed);
  }
  const std::uint64_t count = self.generation++ & ((1U << 21) - 1);
  return kLinkMark | (count << kNumberBits) | number;
}

void discard_block(std::uint64_t link) { push_free(number_of(link)); }

void release_chain(ThreadState& self, std::uint64_t link) {
  while (is_link(link)) {
    const std::uint64_t next = block_of(link)->entries[CellBlock::kEntries - 1].load(std::memory_order_acquire);
    self.unlinked_blocks.push_back(number_of(link));
    link = next;
  }
  if (self.unlinked_blocks.size() >= kReclaimAt) reclaim(self);
}

void orphan_chain(std::uint64_t link) {
  while (is_link(link)) {
    const std::uint64_t next = block_of(link)->entries[CellBlock::kEntries - 1].load(std::memory_order_acquire);
    registry().orphaned_blocks.push_back(number_of(link));
    link = next;
  }
}

std::uint64_t blocks_in_use() { return in_use.load(std::memory_order_relaxed); }

}  // namespace deadheat::runtime
