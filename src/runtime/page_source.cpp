// SPDX-License-Identifier: Apache-2.0
#include "runtime/page_source.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <cstdint>

#include "runtime/system.h"

namespace deadheat::runtime {
namespace {

// All small blocks come from one stretch of reserved addresses, so that a block
// can be named by 32 bits: its distance from the start in units of 16 bytes. The
// other 32 bits of a list's head count its changes (against the ABA problem).
constexpr std::size_t kUnit = 16;
constexpr std::size_t kArena = kUnit << 32;
constexpr std::size_t kLargestClass = 32 * 1024;
constexpr int kFirstClass = 4;  // 2^4 bytes
constexpr int kClassCount = 12;
constexpr std::size_t kSlice = 64 * 1024;  // what a class takes from the arena at once

struct FreeBlock {
  std::atomic<std::uint32_t> next;
};

std::atomic<char*> arena{nullptr};
std::atomic<std::size_t> arena_used{kSlice};  // number 0 stays free: it means none
std::atomic<std::uint64_t> free_lists[kClassCount];
std::atomic<std::size_t> mapped_bytes{0};

std::size_t rounded_to_pages(std::size_t bytes) { return (bytes + 4095) & ~std::size_t{4095}; }

int class_of(std::size_t bytes) {
  if (bytes <= kUnit) return 0;
  return static_cast<int>(std::bit_width(bytes - 1)) - kFirstClass;
}

char* arena_begin() {
  char* begin = arena.load(std::memory_order_acquire);
  if (begin != nullptr) [[likely]]
    return begin;
  void* fresh = PageSource::reserve(kArena);
  if (fresh == nullptr) return nullptr;
  if (arena.compare_exchange_strong(begin, static_cast<char*>(fresh), std::memory_order_acq_rel)) {
    return static_cast<char*>(fresh);
  }
  raw_munmap(fresh, kArena);
  return begin;
}

void push(int size_class, char* base, std::uint32_t number) {
  auto* block = reinterpret_cast<FreeBlock*>(base + number * kUnit);
  std::uint64_t head = free_lists[size_class].load(std::memory_order_relaxed);
  std::uint64_t changed = 0;
  do {
    block->next.store(static_cast<std::uint32_t>(head), std::memory_order_relaxed);
    changed = (((head >> 32) + 1) << 32) | number;
    // Release: who pops the block sees its `next`.
  } while (!free_lists[size_class].compare_exchange_weak(head, changed, std::memory_order_release,
                                                         std::memory_order_relaxed));
}

char* pop(int size_class, char* base) {
  std::uint64_t head = free_lists[size_class].load(std::memory_order_acquire);
  while (static_cast<std::uint32_t>(head) != 0) {
    char* block = base + static_cast<std::uint32_t>(head) * kUnit;
    // The block may be gone and in use by now; then `next` is rubbish and the
    // count in the head has changed.
    const std::uint32_t next = reinterpret_cast<FreeBlock*>(block)->next.load(std::memory_order_relaxed);
    const std::uint64_t changed = (((head >> 32) + 1) << 32) | next;
    if (free_lists[size_class].compare_exchange_weak(head, changed, std::memory_order_acquire,
                                                     std::memory_order_acquire)) {
      return block;
    }
  }
  return nullptr;
}

char* carve(int size_class, char* base) {
  const std::size_t size = std::size_t{1} << (size_class + kFirstClass);
  const std::size_t begin = arena_used.fetch_add(kSlice, std::memory_order_relaxed);
  if (begin + kSlice > kArena) return nullptr;
  for (std::size_t at = kSlice - size; at > 0; at -= size) {
    push(size_class, base, static_cast<std::uint32_t>((begin + at) / kUnit));
  }
  mapped_bytes.fetch_add(kSlice, std::memory_order_relaxed);
  return base + begin;
}

// Where nothing can be mapped any more (a limit, a filter of system calls).
void* carve_pages(std::size_t bytes) {
  char* const base = arena.load(std::memory_order_acquire);  // pairs with arena_begin()
  if (base == nullptr) return nullptr;
  const std::size_t room = (bytes + kSlice - 1) / kSlice * kSlice;
  const std::size_t begin = arena_used.fetch_add(room, std::memory_order_relaxed);
  if (begin + room > kArena) return nullptr;
  mapped_bytes.fetch_add(room, std::memory_order_relaxed);
  return base + begin;
}

[[nodiscard]] bool is_in_arena(const void* memory) {
  const char* const base = arena.load(std::memory_order_relaxed);
  return base != nullptr && static_cast<std::size_t>(static_cast<const char*>(memory) - base) < kArena;
}

}  // namespace

void* PageSource::reserve(std::size_t bytes) {
  // Preferably where neither the program nor the shadow is, so that walks over
  // the program's mappings do not meet our own.
  static constinit std::atomic<std::size_t> wish{std::size_t{0x40} << 40};
  void* hint = reinterpret_cast<void*>(wish.fetch_add(rounded_to_pages(bytes) + 4096, std::memory_order_relaxed));
  void* result = raw_mmap(hint, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
  if (result == MAP_FAILED) return carve_pages(bytes);
  raw_madvise(result, bytes, MADV_DONTDUMP);
  // Lazily touched tables must stay sparse.
  raw_madvise(result, bytes, MADV_NOHUGEPAGE);
  return result;
}

void* PageSource::try_allocate(std::size_t bytes) {
  if (bytes > kLargestClass) {
    void* result = raw_mmap(nullptr, rounded_to_pages(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
    if (result == MAP_FAILED) return carve_pages(bytes);
    mapped_bytes.fetch_add(rounded_to_pages(bytes), std::memory_order_relaxed);
    return result;
  }
  char* base = arena_begin();
  if (base == nullptr) {
    // Address space is limited: then there is no detection, and little is needed.
    void* result = raw_mmap(nullptr, rounded_to_pages(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
    return result == MAP_FAILED ? nullptr : result;
  }
  const int size_class = class_of(bytes);
  if (char* block = pop(size_class, base)) return block;
  return carve(size_class, base);
}

void* PageSource::allocate(std::size_t bytes) {
  void* result = try_allocate(bytes);
  if (result == nullptr) die("out of memory for the race detector's own tables");
  return result;
}

void PageSource::release(void* memory, std::size_t bytes) {
  if (memory == nullptr) return;
  if (bytes > kLargestClass) {
    if (is_in_arena(memory)) return;  // rare, and as good as new only as long as nobody has it
    raw_munmap(memory, rounded_to_pages(bytes));
    mapped_bytes.fetch_sub(rounded_to_pages(bytes), std::memory_order_relaxed);
    return;
  }
  char* base = arena.load(std::memory_order_relaxed);
  if (base == nullptr) {
    raw_munmap(memory, rounded_to_pages(bytes));
    return;
  }
  push(class_of(bytes), base, static_cast<std::uint32_t>((static_cast<char*>(memory) - base) / kUnit));
}

std::size_t PageSource::mapped() { return mapped_bytes.load(std::memory_order_relaxed); }

}  // namespace deadheat::runtime
