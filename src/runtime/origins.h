// SPDX-License-Identifier: Apache-2.0
// Origins: where an access came from, as a number of 22 bits.
//
// A report shows both sides of a race in full, and the earlier side is only
// known to matter when the later one arrives, so every entry of the shadow
// carries its origin: code address and size of the access, the calls that were
// open, and the locks held. Paths are numbered as they are seen: a stack is its
// parent stack and one more call, a set of locks its parent set and one more
// lock, a situation a stack and a set, an origin a situation and a code
// address. Four tables of pairs, one kind of table.
//
// The hooks at function entry only push the return address; a stack's number is
// worked out when an access needs it, and remembered in the frame. Each thread
// caches the origins it used last, so the usual cost is one probe.
//
// Accesses of one epoch to different bytes of a word share an entry, and their
// origins are combined: a combined origin is an earlier one, another, and the
// bytes that the other is responsible for. So the origin of each byte is exact.
//
// Numbers are never taken back. Beyond 3 million origins the locks are left out
// of new ones, beyond 4 million they are unknown; both are counted.
#pragma once

#include <cstdint>

#include "core/cell_entry.h"
#include "model/finding.h"
#include "model/identity.h"
#include "runtime/pair_table.h"
#include "runtime/thread_state.h"

namespace deadheat::runtime {

// A path of calls; 0 is unknown, 1 the empty one.
enum class StackId : std::uint32_t { kUnknown = 0, kEmpty = 1 };

// What an origin remembers besides code address, calls and locks.
struct AccessShape {
  std::uint8_t size_code = 0;  // 0: not known, else 1 + log2(size) for 1..16, 15 for ranges
  std::uint8_t flags = 0;      // raw_report::kAccess..., kOriginFree
};
inline constexpr std::uint8_t kOriginFree = 0x80;

// One origin that a thread used lately, under what it is made of.
struct OriginCacheEntry {
  std::uint64_t code_and_shape = 0;
  std::uint64_t stack_and_locks = 0;
  std::uint32_t origin = 0;
  std::uint32_t reserved = 0;
};
inline constexpr std::uint32_t kOriginCacheSize = 1024;

inline constexpr int kShapeShift = 48;
[[nodiscard]] constexpr std::uint64_t code_and_shape(Address code, AccessShape shape) {
  return code | (std::uint64_t{shape.size_code} << kShapeShift) | (std::uint64_t{shape.flags} << (kShapeShift + 8));
}

// Where in its thread's cache an origin is kept.
[[nodiscard]] inline OriginCacheEntry& cache_entry(std::uint64_t code_and_shape, std::uint64_t stack_and_locks) {
  const std::uint64_t mixed =
      code_and_shape ^ (code_and_shape >> 10) ^ (code_and_shape >> 23) ^ stack_and_locks ^ (stack_and_locks >> 27);
  return current.origins[mixed % kOriginCacheSize];
}

// The origin of an access by the current thread if it is in the cache, else
// kUnknown. The thread is registered.
[[nodiscard, gnu::always_inline]] inline OriginId cached_origin(std::uint64_t code_and_shape) {
  const std::uint32_t stack = (current.top - 1)->context;
  const std::uint64_t stack_and_locks = (std::uint64_t{stack} << 32) | current.lock_set;
  if (stack == 0 || current.lock_set == 0 || current.origins == nullptr) return OriginId::kUnknown;
  const OriginCacheEntry& entry = cache_entry(code_and_shape, stack_and_locks);
  // Before the comparison: a signal handler may change the entry in between.
  const std::uint32_t origin = entry.origin;
  __asm__ volatile("" ::: "memory");
  const bool is_known = entry.code_and_shape == code_and_shape && entry.stack_and_locks == stack_and_locks;
  return is_known ? OriginId{origin} : OriginId::kUnknown;
}

// Reserves the tables; false if refused.
bool map_origins();

// Of an access by the current thread.
[[nodiscard]] OriginId origin_of(ThreadState& self, std::uint64_t code_and_shape);

// The stack of calls open now, and with the code address `code` on top of it.
[[nodiscard]] StackId open_stack(ThreadState& self);
[[nodiscard]] std::uint32_t current_stack(ThreadState& self, Address code);

// The combination of `earlier` with `added` for these bytes of a word; kUnknown if
// it is not in the current thread's cache, or if there cannot be one.
[[nodiscard, gnu::always_inline]] inline std::uint64_t combination_key(OriginId earlier, OriginId added,
                                                                       ByteMask mask) {
  return (std::uint64_t{1} << 63) | (std::uint64_t{mask} << 44) | (std::uint64_t{raw(added)} << 22) | raw(earlier);
}
inline constexpr std::uint64_t kCombinationMark = ~std::uint64_t{0};
[[nodiscard, gnu::always_inline]] inline OriginId cached_combination(OriginId earlier, OriginId added, ByteMask mask) {
  if (current.origins == nullptr) return OriginId::kUnknown;
  const std::uint64_t key = combination_key(earlier, added, mask);
  const OriginCacheEntry& entry = cache_entry(key, kCombinationMark);
  const std::uint32_t origin = entry.origin;
  __asm__ volatile("" ::: "memory");  // see cached_origin()
  const bool is_known = entry.code_and_shape == key && entry.stack_and_locks == kCombinationMark;
  return is_known ? OriginId{origin} : OriginId::kUnknown;
}
[[nodiscard]] OriginId combined_origin(OriginId earlier, OriginId added, ByteMask mask);
// The plain origin responsible for the byte (0 to 7) of a word.
[[nodiscard]] OriginId origin_of_byte(OriginId origin, std::uint32_t byte);

struct OriginDetails {
  Address code = 0;
  AccessShape shape;
  std::uint32_t stack = 0;     // of the open calls
  std::uint32_t lock_set = 0;  // 0: unknown
};
[[nodiscard]] OriginDetails details_of(OriginId origin);

// Copies a stack, innermost first, up to `limit` entries; returns how many.
std::uint32_t copy_stack(std::uint32_t stack, Address* into, std::uint32_t limit);

// A lock of a set: the serial number of its object and the mode.
struct LockInSet {
  std::uint64_t serial = 0;
  LockMode mode = LockMode::kExclusive;
};
std::uint32_t copy_lock_set(std::uint32_t lock_set, LockInSet* into, std::uint32_t limit);

struct OriginCounters {
  std::uint64_t stacks = 0;
  std::uint64_t origins = 0;
  std::uint64_t without_locks = 0;
  std::uint64_t unknown = 0;
};
[[nodiscard]] OriginCounters origin_counters();

}  // namespace deadheat::runtime
