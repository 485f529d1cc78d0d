// SPDX-License-Identifier: Apache-2.0
#include "runtime/intercept/io_rings.h"

#include <linux/io_uring.h>

#include <cstddef>

#include "runtime/intercept/kernel_order.h"
#include "runtime/intercept/kernel_words.h"
#include "runtime/intercept/replace.h"

namespace deadheat::runtime {

constinit std::atomic<bool> has_rings{false};

namespace {

// Rings that the program made itself; further ones are ordered by system calls only.
struct Ring {
  std::atomic<int> descriptor{-1};
  std::atomic<std::uint32_t> tail_offset{0};
  std::atomic<Address> tail{0};  // of completions; 0 until it is mapped
};
constexpr int kRings = 64;
constinit Ring rings[kRings];
constinit std::atomic<int> ring_count{0};

void release_tails() {
  // Relaxed: a ring whose tail is not seen yet was mapped by a thread that has not handed it to this one.
  const int count = ring_count.load(std::memory_order_relaxed);
  for (int at = 0; at < (count < kRings ? count : kRings); ++at) {
    const Address tail = rings[at].tail.load(std::memory_order_relaxed);
    if (tail != 0) before_kernel_stores(tail);
  }
}

}  // namespace

void note_ring(int descriptor, const void* parameters) {
  has_rings.store(true, std::memory_order_relaxed);
  const auto& made = *static_cast<const io_uring_params*>(parameters);
  int place = 0;
  const int count = ring_count.load(std::memory_order_relaxed);
  while (place < count && place < kRings && rings[place].descriptor.load(std::memory_order_relaxed) != descriptor)
    ++place;
  if (place == count) place = ring_count.fetch_add(1, std::memory_order_relaxed);
  if (place >= kRings) return;
  rings[place].tail.store(0, std::memory_order_relaxed);
  rings[place].tail_offset.store(made.cq_off.tail, std::memory_order_relaxed);
  rings[place].descriptor.store(descriptor, std::memory_order_release);  // pairs with note_ring_mapping()
}

void note_ring_mapping(int descriptor, std::uint64_t offset, Address begin) {
  if (descriptor < 0 || !has_rings.load(std::memory_order_relaxed)) return;
  if (offset != IORING_OFF_SQ_RING && offset != IORING_OFF_CQ_RING) return;
  for (Ring& ring : rings) {
    if (ring.descriptor.load(std::memory_order_acquire) != descriptor) continue;
    // One mapping has both rings, unless the system is old.
    if (offset == IORING_OFF_SQ_RING && ring.tail.load(std::memory_order_relaxed) != 0) continue;
    ring.tail.store(begin + ring.tail_offset.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }
}

void give_to_rings(Address code) {
  if (!has_rings.load(std::memory_order_relaxed) || !is_observing()) return;
  give_to_kernel(KernelObject::kRing, 0, 0, code);
  release_tails();
}

void take_from_rings(Address code) {
  if (has_rings.load(std::memory_order_relaxed)) take_from_kernel(KernelObject::kRing, 0, 0, code);
}

void before_ring_call(Address code) {
  has_rings.store(true, std::memory_order_relaxed);
  give_to_rings(code);
}

void after_ring_call(Address code) { take_from_rings(code); }

namespace {

// The beginning of liburing's structure of a ring, which programs are compiled with: where the words of completions
// are.
struct LibraryRing {
  std::uint64_t submissions[13];
  unsigned* completed_head;
  unsigned* completed_tail;
};

void before_library_call(const LibraryRing* ring, Address code) {
  if (!is_observing()) return;
  before_ring_call(code);
  // The program looks at the tail by itself, too, and the library looks where we do not.
  before_kernel_stores(address_of(ring->completed_tail));
}
void after_library_call(const LibraryRing* ring, Address code) {
  if (!is_observing()) return;
  const KeepErrno keep;
  after_ring_call(code);
  after_kernel_loads(address_of(ring->completed_tail));
}

}  // namespace
}  // namespace deadheat::runtime

using namespace deadheat;
using namespace deadheat::runtime;

// Functions of liburing, which make their system calls by themselves. All take a ring first.
#define DEADHEAT_RING_CALL(name)                                                                                     \
  DEADHEAT_REPLACE(int, name, LibraryRing* ring, std::uint64_t b, std::uint64_t c, std::uint64_t d, std::uint64_t e, \
                   std::uint64_t f) {                                                                                \
    DEADHEAT_ORIGINAL(name);                                                                                         \
    before_library_call(ring, DEADHEAT_CALLER);                                                                      \
    const int result = original(ring, b, c, d, e, f);                                                                \
    after_library_call(ring, DEADHEAT_CALLER);                                                                       \
    return result;                                                                                                   \
  }
// Making one: what is sent from now on may come back by it.
#define DEADHEAT_RING_MADE(name)                                                                    \
  DEADHEAT_REPLACE(int, name, std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d) { \
    DEADHEAT_ORIGINAL(name);                                                                        \
    has_rings.store(true, std::memory_order_relaxed);                                               \
    return original(a, b, c, d);                                                                    \
  }
DEADHEAT_RING_MADE(io_uring_queue_init)
DEADHEAT_RING_MADE(io_uring_queue_init_params)
DEADHEAT_RING_MADE(io_uring_queue_mmap)
DEADHEAT_RING_CALL(io_uring_submit)
DEADHEAT_RING_CALL(io_uring_submit_and_wait)
DEADHEAT_RING_CALL(io_uring_submit_and_wait_timeout)
DEADHEAT_RING_CALL(io_uring_submit_and_get_events)
DEADHEAT_RING_CALL(io_uring_get_events)
DEADHEAT_RING_CALL(io_uring_wait_cqes)
DEADHEAT_RING_CALL(io_uring_wait_cqe_timeout)
DEADHEAT_RING_CALL(__io_uring_get_cqe)
DEADHEAT_RING_CALL(io_uring_peek_batch_cqe)
DEADHEAT_RING_CALL(__io_uring_sqring_wait)
