// SPDX-License-Identifier: Apache-2.0
// malloc and its family.
//
// Memory comes from glibc by the names under which it exports its own
// functions, so that nothing here needs dlsym: these functions are called while
// the program is still being linked, by dlsym itself, and by the C library on
// threads that are half gone. In front of every block stands a BlockHeader; it
// is written whether the runtime is ready or not, events are sent only when it
// is. A block without our mark was allocated behind our back and goes to glibc
// untouched.
//
// The price is 16 bytes per block, the block's own alignment for aligned ones,
// and two changes of a byte in HeapTable. realloc stays glibc's where the block
// has no special alignment, so that large blocks still grow by mremap.
#include "runtime/intercept/heap.h"

#include <cerrno>
#include <cstdint>

#include "runtime/foreign_code.h"
#include "runtime/heap_table.h"
#include "runtime/intercept/cxx_counts.h"
#include "runtime/intercept/replace.h"
#include "runtime/on_memory.h"
#include "runtime/origins.h"
#include "runtime/races.h"
#include "runtime/start.h"
#include "runtime/sync_table.h"
#include "runtime/thread_registry.h"

extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* block, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
void __libc_free(void* block);
}

namespace deadheat::runtime {

namespace {

constexpr std::size_t kHeaderSize = sizeof(BlockHeader);
constexpr std::uint32_t kHeaderLog = 4;
constexpr std::size_t kLargestBlock = PTRDIFF_MAX;  // as in glibc
constexpr std::size_t kPage = 4096;

bool is_power_of_two(std::size_t number) { return number != 0 && (number & (number - 1)) == 0; }

// Without the detector's tables there are no stacks to number.
bool is_checking() { return is_observing() && !detection_is_off.load(std::memory_order_relaxed); }

void* fail(int error) {
  errno = error;
  return nullptr;
}

// Whether glibc maps the block by itself and unmaps it when it is freed: a bit of
// the size that stands in front of it. Then its shadow goes away with it; of a use
// that comes even later the program dies.
bool is_mapping(Address real) {
  constexpr std::size_t kIsMapped = 2;
  return (*reinterpret_cast<const std::size_t*>(real - sizeof(std::size_t)) & kIsMapped) != 0;
}

// Nothing is recorded (unchecked_code.h): nobody needs to know of the block but reports on it,
// later. Asked after the allocator has given it out, and before it gets it back.
[[gnu::always_inline]] inline bool is_left_unseen() {
  return __atomic_load_n(&current.runs_unchecked, __ATOMIC_RELAXED) != 0 && current.inside == 0;
}

[[gnu::noinline]] void* announce_slowly(Address block, std::size_t size, std::uint32_t offset_log, Address code) {
  BlockHeader& header = header_of(block);
  header = BlockHeader::of(size, 0, 0, offset_log);
  if (is_checking()) {
    const KeepErrno keep;
    ThreadState& thread = self();
    const RuntimeScope scope;
    header.stack = current_stack(thread, code);
    header.thread = thread_number(thread) & 0xffffff;
    on_allocated(thread, block, size, code);
  } else if (runtime_is_ready.load(std::memory_order_relaxed)) {
    on_allocated_inside(block, size);
  }
  HeapTable::add(block);
  return reinterpret_cast<void*>(block);
}

// Writes the header and tells everybody who wants to know.
[[gnu::always_inline]] inline void* announce(Address block, std::size_t size, std::uint32_t offset_log, Address code) {
  if (is_left_unseen()) {
    if (const std::uint32_t stack = cached_stack(code); stack != 0) [[likely]] {
      header_of(block) = BlockHeader::of(size, stack, thread_number(*current.state), offset_log);
      HeapTable::add(block);
      return reinterpret_cast<void*>(block);
    }
  }
  return announce_slowly(block, size, offset_log, code);
}

// The block ends: checks it, forgets it, and returns where the real block begins.
[[gnu::noinline]] void* withdraw_slowly(Address block, Address code) {
  BlockHeader& header = header_of(block);
  const std::size_t size = header.size();
  const Address real = block - (Address{1} << header.offset_log);
  if (is_checking()) {
    const KeepErrno keep;
    ReferenceDrop::settle(code);
    ThreadState& thread = self();
    const RuntimeScope scope;
    if (is_mapping(real)) {
      on_unmapping(thread, block, size, code);
    } else {
      on_freeing(thread, block, size, code);
    }
    HeapTable::remove(block);
    // A free that is not recorded is not reported either.
    if (!is_unsampled(thread)) {
      HeapTable::remember_freed({.kind = HeapKind::kFreed,
                                 .begin = block,
                                 .size = size,
                                 .allocated_stack = header.stack,
                                 .freed_stack = current_stack(thread, code),
                                 .allocated_by = header.thread,
                                 .freed_by = thread_number(thread)});
    }
  } else {
    HeapTable::remove(block);
  }
  header.mark = 0;  // a second free becomes glibc's to complain about
  return reinterpret_cast<void*>(real);
}

[[gnu::always_inline]] inline void* withdraw(Address block, Address code) {
  BlockHeader& header = header_of(block);
  const Address real = block - (Address{1} << header.offset_log);
  if (is_left_unseen() && !is_mapping(real) && !sync_table().may_have_objects(block, header.size()) &&
      !has_benign_ranges.load(std::memory_order_relaxed)) [[likely]] {
    ++current.forgotten;
    HeapTable::remove(block);
    header.mark = 0;
    return reinterpret_cast<void*>(real);
  }
  return withdraw_slowly(block, code);
}

void* allocate_zeroed(std::size_t size, Address code) {
  if (size > kLargestBlock - kHeaderSize) return fail(ENOMEM);
  void* const real = __libc_calloc(1, size + kHeaderSize);
  if (real == nullptr) return nullptr;
  return announce(address_of(real) + kHeaderSize, size, kHeaderLog, code);
}

// A block with an alignment of its own cannot stay where it is.
void* move_block(void* block, std::size_t size, Address code) {
  void* const fresh = allocate_block(size, code);
  if (fresh == nullptr) return nullptr;
  const std::size_t old_size = block_size(block);
  std::size_t count = old_size < size ? old_size : size;
  void* to = fresh;
  const void* from = block;
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
  free_block(block, code);
  return fresh;
}

void* reallocate(void* block, std::size_t size, Address code) {
  if (block == nullptr) return allocate_block(size, code);
  if (!is_our_block(block)) return __libc_realloc(block, size);
  if (size == 0) {
    free_block(block, code);
    return nullptr;
  }
  if (size > kLargestBlock - kHeaderSize) return fail(ENOMEM);
  const Address old = address_of(block);
  if (header_of(old).offset_log != kHeaderLog) return move_block(block, size, code);
  const std::size_t old_size = header_of(old).size();
  void* const old_real = withdraw(old, code);
  void* const real = __libc_realloc(old_real, size + kHeaderSize);
  if (real == nullptr) {
    // The old block lives on. Its history has ended with the check of its free.
    (void)announce(old, old_size, kHeaderLog, code);
    return fail(ENOMEM);
  }
  return announce(address_of(real) + kHeaderSize, size, kHeaderLog, code);
}

}  // namespace

bool is_our_block(const void* block) {
  return address_of(block) % kBlockAlignment == 0 && header_of(address_of(block)).mark == BlockHeader::kMark;
}

void* allocate_block(std::size_t size, Address code) {
  if (size > kLargestBlock - kHeaderSize) return fail(ENOMEM);
  void* const real = __libc_malloc(size + kHeaderSize);
  if (real == nullptr) return nullptr;
  return announce(address_of(real) + kHeaderSize, size, kHeaderLog, code);
}

void* allocate_aligned_block(std::size_t alignment, std::size_t size, Address code) {
  if (alignment <= kBlockAlignment) return allocate_block(size, code);
  if (alignment > kLargestBlock || size > kLargestBlock - alignment) return fail(ENOMEM);
  void* const real = __libc_memalign(alignment, size + alignment);
  if (real == nullptr) return nullptr;
  return announce(address_of(real) + alignment, size, static_cast<std::uint32_t>(__builtin_ctzll(alignment)), code);
}

void free_block(void* block, Address code) {
  if (block == nullptr) return;
  if (!is_our_block(block)) return __libc_free(block);
  if (is_of_ordering_library(code)) [[unlikely]]
    return free_unchecked(block);
  __libc_free(withdraw(address_of(block), code));
}

void free_unchecked(void* block) {
  if (block == nullptr) return;
  if (!is_our_block(block)) return __libc_free(block);
  BlockHeader& header = header_of(address_of(block));
  if (is_checking()) forget_memory(self(), address_of(block), header.size());
  HeapTable::remove(address_of(block));
  header.mark = 0;
  __libc_free(reinterpret_cast<void*>(address_of(block) - (Address{1} << header.offset_log)));
}

std::size_t block_size(void* block) {
  if (block == nullptr) return 0;
  if (is_our_block(block)) return header_of(address_of(block)).size();
  static constinit RealFunction<std::size_t(void*)> original;
  return original.get("malloc_usable_size")(block);
}

}  // namespace deadheat::runtime

using namespace deadheat;
using namespace deadheat::runtime;

DEADHEAT_REPLACE_FIRMLY(void*, malloc, std::size_t size) { return allocate_block(size, DEADHEAT_CALLER); }

DEADHEAT_REPLACE_FIRMLY(void, free, void* block) { free_block(block, DEADHEAT_CALLER); }

DEADHEAT_REPLACE_FIRMLY(void, cfree, void* block) { free_block(block, DEADHEAT_CALLER); }

DEADHEAT_REPLACE_FIRMLY(void*, calloc, std::size_t count, std::size_t size) {
  std::size_t total = 0;
  if (__builtin_mul_overflow(count, size, &total)) return fail(ENOMEM);
  return allocate_zeroed(total, DEADHEAT_CALLER);
}

DEADHEAT_REPLACE_FIRMLY(void*, realloc, void* block, std::size_t size) {
  return reallocate(block, size, DEADHEAT_CALLER);
}

DEADHEAT_REPLACE_FIRMLY(void*, reallocarray, void* block, std::size_t count, std::size_t size) {
  std::size_t total = 0;
  if (__builtin_mul_overflow(count, size, &total)) return fail(ENOMEM);
  return reallocate(block, total, DEADHEAT_CALLER);
}

namespace {

// glibc rounds an odd alignment up to a power of two and calls a huge one invalid.
// Newer ones refuse odd alignments in aligned_alloc; what works there works here.
void* allocate_rounded(std::size_t alignment, std::size_t size, Address code) {
  if (alignment > kLargestBlock / 2 + 1) return fail(EINVAL);
  std::size_t rounded = kBlockAlignment;
  while (rounded < alignment) rounded *= 2;
  return allocate_aligned_block(rounded, size, code);
}

}  // namespace

DEADHEAT_REPLACE_FIRMLY(void*, memalign, std::size_t alignment, std::size_t size) {
  return allocate_rounded(alignment, size, DEADHEAT_CALLER);
}

DEADHEAT_REPLACE_FIRMLY(void*, aligned_alloc, std::size_t alignment, std::size_t size) {
  return allocate_rounded(alignment, size, DEADHEAT_CALLER);
}

DEADHEAT_REPLACE_FIRMLY(int, posix_memalign, void** result, std::size_t alignment, std::size_t size) {
  if (alignment % sizeof(void*) != 0 || !is_power_of_two(alignment)) return EINVAL;
  const int saved = errno;
  void* const block = allocate_aligned_block(alignment, size, DEADHEAT_CALLER);
  if (block == nullptr) {
    errno = saved;  // the error is the result
    return ENOMEM;
  }
  *result = block;
  report_written(result, sizeof(*result), DEADHEAT_CALLER);
  return 0;
}

DEADHEAT_REPLACE_FIRMLY(void*, valloc, std::size_t size) {
  return allocate_aligned_block(kPage, size, DEADHEAT_CALLER);
}

DEADHEAT_REPLACE_FIRMLY(void*, pvalloc, std::size_t size) {
  if (size > kLargestBlock - kPage) return fail(ENOMEM);
  return allocate_aligned_block(kPage, (size + kPage - 1) / kPage * kPage, DEADHEAT_CALLER);
}

DEADHEAT_REPLACE_FIRMLY(std::size_t, malloc_usable_size, void* block) { return block_size(block); }
