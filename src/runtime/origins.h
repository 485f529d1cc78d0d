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

#include <atomic>
#include <bit>
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
  std::uint8_t size_code = 0;  // size_code()
  std::uint8_t flags = 0;      // raw_report::kAccess..., kOriginFree
};
inline constexpr std::uint8_t kOriginFree = 0x40;  // 0x80 marks combined origins

// 1 + log2(size) for 1, 2, 4, 8, 16; 16 + size for other sizes below 8; 0 for all others, which are
// not told apart.
[[nodiscard]] constexpr std::uint8_t size_code(std::size_t size) {
  if (size <= 16 && std::has_single_bit(size)) return static_cast<std::uint8_t>(std::bit_width(size));
  return static_cast<std::uint8_t>(size < 8 ? 16 + size : 0);
}
static_assert(size_code(1) == 1 && size_code(2) == 2 && size_code(16) == 5 && size_code(3) == 19 && size_code(9) == 0);
[[nodiscard]] inline AccessShape shape_of(AccessKind kind, std::size_t size, std::uint8_t flags) {
  return {size_code(size), static_cast<std::uint8_t>(flags | (kind == AccessKind::kFree ? kOriginFree : 0))};
}

// One origin that a thread used lately, under a hash of what it is made of.
struct OriginCacheEntry {
  std::uint64_t key = 0;
  std::uint32_t origin = 0;
  std::uint32_t reserved = 0;
};
inline constexpr std::uint32_t kOriginCacheSize = 2048;
// The cache of a thread that has none, or must not use it; nothing is in it.
[[gnu::visibility("hidden")]] extern OriginCacheEntry no_origins[];

inline constexpr int kShapeShift = 48;
[[nodiscard]] constexpr std::uint64_t code_and_shape(Address code, AccessShape shape) {
  return code | (std::uint64_t{shape.size_code} << kShapeShift) | (std::uint64_t{shape.flags} << (kShapeShift + 8));
}

// Of an access by the current thread. Nearby code has different low bits.
[[nodiscard, gnu::always_inline]] inline std::uint64_t cache_key(std::uint64_t code_and_shape) {
  return ((current.top - 1)->path + current.locks) ^ code_and_shape;
}

// The origin under the key if it is in the cache, else kUnknown.
[[nodiscard, gnu::always_inline]] inline OriginId cached_in(const OriginCacheEntry* cache, std::uint64_t key) {
  const OriginCacheEntry& entry = cache[key % kOriginCacheSize];
  // Before the comparison: a signal handler may change the entry in between.
  const std::uint32_t origin = entry.origin;
  __asm__ volatile("" ::: "memory");
  return entry.key == key ? OriginId{origin} : OriginId::kUnknown;
}

// The same for the current thread's cache.
[[nodiscard, gnu::always_inline]] inline OriginId cached_under(std::uint64_t key) {
  return cached_in(current.origins, key);
}

// The origin of an access by the current thread.
[[nodiscard, gnu::always_inline]] inline OriginId cached_origin(std::uint64_t code_and_shape) {
  return cached_under(cache_key(code_and_shape));
}

// The stacks of a thread that it asked for last: every malloc and free asks.
inline constexpr std::uint32_t kStackCacheSize = 256;

[[nodiscard, gnu::always_inline]] inline std::uint64_t stack_key(Address code) {
  return (current.top - 1)->path ^ code;
}
// What current_stack() would say of the current thread, if it is in the cache; else 0.
[[nodiscard, gnu::always_inline]] inline std::uint32_t cached_stack(Address code) {
  const std::uint64_t key = stack_key(code);
  const OriginCacheEntry& entry = current.stacks[key % kStackCacheSize];
  const std::uint32_t stack = entry.origin;
  __asm__ volatile("" ::: "memory");  // as in cached_in()
  return entry.key == key ? stack : 0;
}

// Reserves the tables; false if refused.
bool map_origins();

// Of an access by the current thread.
[[nodiscard]] OriginId origin_of(ThreadState& self, std::uint64_t code_and_shape);

// The stack of calls open now, and with the code address `code` on top of it.
[[nodiscard]] StackId open_stack(ThreadState& self);
[[nodiscard]] std::uint32_t current_stack(ThreadState& self, Address code);

// The combination of `earlier` with `added` for these bytes of a word; kUnknown if
// it was not used lately, or if there cannot be one.
//
// Code that goes through memory byte by byte needs thousands of them, so all
// threads share one cache. A place in it is one machine word: a combination has 52
// bits, multiplying by an odd number loses none, 16 of the product say where,
// the other 36 are kept with the 22 of the origin.
inline constexpr int kCombinationBits = 52;
inline constexpr int kCombinationPlaceBits = 16;
[[gnu::visibility("hidden")]] extern std::atomic<std::uint64_t> combinations[1U << kCombinationPlaceBits];

[[nodiscard, gnu::always_inline]] inline std::uint64_t combination_key(OriginId earlier, OriginId added,
                                                                       ByteMask mask) {
  return (std::uint64_t{mask} << 44) | (std::uint64_t{raw(added)} << 22) | raw(earlier);
}

struct CombinationPlace {
  explicit CombinationPlace(std::uint64_t key)
      : product((key * 0x9e3779b97f4a7c15ULL) & ((std::uint64_t{1} << kCombinationBits) - 1)) {}
  [[nodiscard]] std::atomic<std::uint64_t>& entry() const {
    return combinations[product >> (kCombinationBits - kCombinationPlaceBits)];
  }
  [[nodiscard]] std::uint64_t tag() const {
    constexpr int kTagBits = kCombinationBits - kCombinationPlaceBits;
    return (product & ((std::uint64_t{1} << kTagBits) - 1)) << CellEntry::kOriginBits;
  }
  std::uint64_t product;
};

[[nodiscard, gnu::always_inline]] inline OriginId cached_combination(OriginId earlier, OriginId added, ByteMask mask) {
  const CombinationPlace place(combination_key(earlier, added, mask));
  const std::uint64_t found = place.entry().load(std::memory_order_relaxed) ^ place.tag();
  return found <= CellEntry::kMaxOrigin ? OriginId{static_cast<std::uint32_t>(found)} : OriginId::kUnknown;
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
