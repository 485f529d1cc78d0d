// SPDX-License-Identifier: Apache-2.0
// Mappings that come and go: mmap, munmap, mremap, shared memory segments.
//
// The calls go straight to the kernel, as libc's own do, so nothing has to be
// looked up and they work at any time. A mapping placed over another one ends
// it. Requests that the kernel will refuse for their form alone are not
// reported; one that it refuses for other reasons has by then been checked like
// an end of the memory, which is harmless.
//
// madvise is left alone on purpose: advice such as MADV_DONTNEED changes the
// contents of some mappings and of others nothing at all, but never which
// accesses are ordered, so the history of the memory stays valid.
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <type_traits>

#include "runtime/intercept/io_rings.h"
#include "runtime/intercept/relatives.h"
#include "runtime/intercept/replace.h"
#include "runtime/on_memory.h"
#include "runtime/system.h"

namespace deadheat::runtime {
namespace {

constexpr std::size_t kPage = 4096;

std::size_t whole_pages(std::size_t size) { return (size + kPage - 1) & ~(kPage - 1); }

// A result of the kernel as libc hands it on.
template <class Result>
Result with_errno(long result) {
  if (result < 0 && result > -static_cast<long>(kPage)) {
    errno = static_cast<int>(-result);
    result = -1;
  }
  if constexpr (std::is_pointer_v<Result>) {
    return reinterpret_cast<Result>(result);
  } else {
    return static_cast<Result>(result);
  }
}

bool is_shared_mapping(int flags) {
  return (flags & MAP_TYPE) == MAP_SHARED || (flags & MAP_TYPE) == MAP_SHARED_VALIDATE;
}

bool is_range(const void* begin, std::size_t size) { return address_of(begin) % kPage == 0 && size != 0; }

void* map(void* wish, std::size_t size, int protection, int flags, int descriptor, long offset, Address code) {
  const bool replaces = (flags & MAP_FIXED) != 0;
  const bool observing = is_observing();
  if (observing && replaces && is_range(wish, size)) on_unmapping(self(), address_of(wish), whole_pages(size), code);
  void* const result = with_errno<void*>(program_call(SYS_mmap, reinterpret_cast<long>(wish), static_cast<long>(size),
                                                      protection, flags, descriptor, offset));
  if (observing && result != MAP_FAILED) {
    const KeepErrno keep;
    on_mapped(self(), address_of(result), whole_pages(size), code);
    if (is_shared_mapping(flags)) note_shared_memory(address_of(result), whole_pages(size));
    note_ring_mapping(descriptor, static_cast<std::uint64_t>(offset), address_of(result));
  }
  return result;
}

// Attached segments: shmdt is told only where, not how much. A full table means
// that the end of an attachment goes unnoticed until its memory is mapped again.
struct Attachment {
  std::atomic<Address> begin{0};
  std::atomic<std::size_t> size{0};
};
constinit Attachment attachments[256];

void remember_attachment(Address begin, std::size_t size) {
  for (Attachment& attachment : attachments) {
    Address free_place = 0;
    if (!attachment.begin.compare_exchange_strong(free_place, begin, std::memory_order_relaxed)) continue;
    attachment.size.store(size, std::memory_order_relaxed);
    return;
  }
}

std::size_t forget_attachment(Address begin) {
  for (Attachment& attachment : attachments) {
    if (attachment.begin.load(std::memory_order_relaxed) != begin) continue;
    const std::size_t size = attachment.size.exchange(0, std::memory_order_relaxed);
    attachment.begin.store(0, std::memory_order_relaxed);
    return size;
  }
  return 0;
}

}  // namespace
}  // namespace deadheat::runtime

using namespace deadheat;
using namespace deadheat::runtime;

DEADHEAT_REPLACE(void*, mmap, void* wish, std::size_t size, int protection, int flags, int descriptor, long offset) {
  return map(wish, size, protection, flags, descriptor, offset, DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(void*, mmap64, void* wish, std::size_t size, int protection, int flags, int descriptor, long offset) {
  return map(wish, size, protection, flags, descriptor, offset, DEADHEAT_CALLER);
}

DEADHEAT_REPLACE(int, munmap, void* begin, std::size_t size) {
  if (is_observing() && is_range(begin, size)) {
    on_unmapping(self(), address_of(begin), whole_pages(size), DEADHEAT_CALLER);
    forget_shared_memory(address_of(begin), whole_pages(size));
  }
  return with_errno<int>(program_call(SYS_munmap, reinterpret_cast<long>(begin), static_cast<long>(size)));
}

DEADHEAT_REPLACE(void*, mremap, void* begin, std::size_t old_size, std::size_t new_size, int flags, ...) {
  void* target = nullptr;
  if ((flags & MREMAP_FIXED) != 0) {
    va_list rest;
    va_start(rest, flags);
    target = va_arg(rest, void*);
    va_end(rest);
    if (is_observing() && is_range(target, new_size)) {
      on_unmapping(self(), address_of(target), whole_pages(new_size), DEADHEAT_CALLER);
    }
  }
  if (is_observing()) on_remapping(self());
  void* const result =
      with_errno<void*>(program_call(SYS_mremap, reinterpret_cast<long>(begin), static_cast<long>(old_size),
                                     static_cast<long>(new_size), flags, reinterpret_cast<long>(target)));
  if (result != MAP_FAILED && is_observing()) {
    const KeepErrno keep;
    on_remapped(self(), address_of(begin), whole_pages(old_size), address_of(result), whole_pages(new_size),
                DEADHEAT_CALLER);
  }
  return result;
}

DEADHEAT_REPLACE(void*, shmat, int segment, const void* wish, int flags) {
  void* const result = with_errno<void*>(program_call(SYS_shmat, segment, reinterpret_cast<long>(wish), flags));
  if (result == MAP_FAILED || !is_observing()) return result;
  const KeepErrno keep;
  shmid_ds about{};
  if (raw_call(SYS_shmctl, segment, IPC_STAT, reinterpret_cast<long>(&about)) == 0) {
    const std::size_t size = whole_pages(about.shm_segsz);
    remember_attachment(address_of(result), size);
    on_mapped(self(), address_of(result), size, DEADHEAT_CALLER);
    note_shared_memory(address_of(result), size);
  }
  return result;
}

DEADHEAT_REPLACE(int, shmdt, const void* begin) {
  const std::size_t size = forget_attachment(address_of(begin));
  if (size != 0 && is_observing()) {
    on_unmapping(self(), address_of(begin), size, DEADHEAT_CALLER);
    forget_shared_memory(address_of(begin), size);
  }
  return with_errno<int>(program_call(SYS_shmdt, reinterpret_cast<long>(begin)));
}
