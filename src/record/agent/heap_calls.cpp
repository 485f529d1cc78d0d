// SPDX-License-Identifier: Apache-2.0
// Memory: blocks of the heap and mappings. What is freed is logged before, what is allocated
// after, so that a block which goes from one thread to another is free in between. What stays with its
// thread need not be logged at all: recent_blocks.h.
//
// The originals may be looked up by a first call of malloc, and the lookup may allocate: such
// requests are served from a small store that is never given back.
#include "record/agent/heap_calls.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstdarg>
#include <cstdint>

#include "base/replaced_functions.h"
#include "record/agent/log.h"
#include "record/agent/recent_blocks.h"

namespace deadheat::record {
namespace {

constexpr LogKind kAlloc = log_kind(EventKind::kAlloc);
constexpr LogKind kFree = log_kind(EventKind::kFree);

alignas(16) constinit char early_store[64 * 1024] = {};
constinit std::size_t early_used = 0;
thread_local constinit int lookups __attribute__((tls_model("initial-exec"))) = 0;

void* take_early(std::size_t size, std::size_t alignment) {
  if (alignment < 16) alignment = 16;
  if (size > sizeof early_store || alignment > 4096) return nullptr;
  const std::size_t begin = __atomic_fetch_add(&early_used, size + alignment, __ATOMIC_RELAXED);
  if (begin + size + alignment > sizeof early_store) return nullptr;
  const auto at = (reinterpret_cast<std::uintptr_t>(early_store) + begin + alignment - 1) & ~(alignment - 1);
  return reinterpret_cast<void*>(at);
}

bool is_early(const void* block) {
  const auto at = reinterpret_cast<std::uintptr_t>(block);
  const auto begin = reinterpret_cast<std::uintptr_t>(early_store);
  return at >= begin && at < begin + sizeof early_store;
}

void* logged(void* block, std::size_t size, const void* code) {
  if (block != nullptr && size != 0) log_allocation(number_of(block), size, code);
  return block;
}

void log_free(void* block, const void* code) {
  if (block != nullptr) log_release(number_of(block), code);
}

// Pages: none of ours before, none of ours afterwards.
void* mapped(void* memory, std::size_t size, const void* code) {
  if (memory == MAP_FAILED || size == 0 || !has_log()) return memory;
  note_allocation();
  append(kAlloc, 0, number_of(memory), size, code, time_after());
  return memory;
}

}  // namespace
}  // namespace deadheat::record

using namespace deadheat;
using namespace deadheat::record;

// As DEADHEAT_ORIGINAL, for functions that the lookup itself may call.
#define DEADHEAT_HEAP_ORIGINAL(name, early)                                                 \
  static constinit Original original_##name                                                 \
      __attribute__((section("deadheat_originals"), used, aligned(16))) = {#name, nullptr}; \
  void* known_##name = __atomic_load_n(&original_##name.address, __ATOMIC_RELAXED);         \
  if (known_##name == nullptr) {                                                            \
    if (lookups != 0) return early;                                                         \
    ++lookups;                                                                              \
    known_##name = find_original(original_##name);                                          \
    --lookups;                                                                              \
    if (known_##name == nullptr) return early;                                              \
  }                                                                                         \
  auto* const original = reinterpret_cast<decltype(&replaced_##name)>(known_##name)

DEADHEAT_REPLACE(void*, malloc, std::size_t size) {
  DEADHEAT_HEAP_ORIGINAL(malloc, take_early(size, 16));
  return logged(original(size), size, DEADHEAT_CALLER);
}

DEADHEAT_REPLACE(void*, calloc, std::size_t count, std::size_t size) {
  DEADHEAT_HEAP_ORIGINAL(calloc, take_early(count * size, 16));
  return logged(original(count, size), count * size, DEADHEAT_CALLER);
}

DEADHEAT_REPLACE(void, free, void* block) {
  if (block == nullptr || is_early(block)) return;
  DEADHEAT_HEAP_ORIGINAL(free, );
  log_free(block, DEADHEAT_CALLER);
  original(block);
}

DEADHEAT_REPLACE(void*, realloc, void* block, std::size_t size) {
  if (is_early(block)) {
    void* const moved = replaced_malloc(size);
    const std::size_t room = static_cast<std::size_t>(early_store + sizeof early_store - static_cast<char*>(block));
    if (moved != nullptr) __builtin_memcpy(moved, block, size < room ? size : room);
    return moved;
  }
  DEADHEAT_HEAP_ORIGINAL(realloc, take_early(size, 16));
  log_free(block, DEADHEAT_CALLER);
  void* const moved = original(block, size);
  // It failed, and the block is still there.
  if (moved == nullptr && size != 0) return logged(block, 1, DEADHEAT_CALLER), nullptr;
  return logged(moved, size, DEADHEAT_CALLER);
}

DEADHEAT_REPLACE(int, posix_memalign, void** block, std::size_t alignment, std::size_t size) {
  DEADHEAT_HEAP_ORIGINAL(posix_memalign, ENOMEM);
  const int result = original(block, alignment, size);
  if (result == 0) logged(*block, size, DEADHEAT_CALLER);
  return result;
}

DEADHEAT_REPLACE(void*, aligned_alloc, std::size_t alignment, std::size_t size) {
  DEADHEAT_HEAP_ORIGINAL(aligned_alloc, take_early(size, alignment));
  return logged(original(alignment, size), size, DEADHEAT_CALLER);
}

DEADHEAT_REPLACE(void*, memalign, std::size_t alignment, std::size_t size) {
  DEADHEAT_HEAP_ORIGINAL(memalign, take_early(size, alignment));
  return logged(original(alignment, size), size, DEADHEAT_CALLER);
}

namespace deadheat::record {

void* unlogged_malloc(std::size_t size) {
  static constinit Original original{"malloc", nullptr};
  if (original.address == nullptr && find_original(original) == nullptr) return nullptr;
  return reinterpret_cast<decltype(&replaced_malloc)>(original.address)(size);
}

void unlogged_free(void* block) {
  static constinit Original original{"free", nullptr};
  if (original.address == nullptr && find_original(original) == nullptr) return;
  reinterpret_cast<decltype(&replaced_free)>(original.address)(block);
}

}  // namespace deadheat::record

DEADHEAT_REPLACE(void*, mmap, void* address, std::size_t size, int protection, int flags, int file, off_t offset) {
  DEADHEAT_ORIGINAL(mmap);
  return mapped(original(address, size, protection, flags, file, offset), size, DEADHEAT_CALLER);
}

DEADHEAT_REPLACE(void*, mmap64, void* address, std::size_t size, int protection, int flags, int file, off_t offset) {
  DEADHEAT_ORIGINAL(mmap64);
  return mapped(original(address, size, protection, flags, file, offset), size, DEADHEAT_CALLER);
}

DEADHEAT_REPLACE(int, munmap, void* address, std::size_t size) {
  DEADHEAT_ORIGINAL(munmap);
  if (size != 0) log_before(kFree, number_of(address), size, DEADHEAT_CALLER);
  return original(address, size);
}

DEADHEAT_REPLACE(void*, mremap, void* address, std::size_t size, std::size_t new_size, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  void* const wanted = (flags & MREMAP_FIXED) != 0 ? va_arg(rest, void*) : nullptr;
  va_end(rest);
  DEADHEAT_ORIGINAL(mremap);
  if (size != 0) log_before(kFree, number_of(address), size, DEADHEAT_CALLER);
  return mapped(original(address, size, new_size, flags, wanted), new_size, DEADHEAT_CALLER);
}
