// SPDX-License-Identifier: Apache-2.0
// Finding: the one vocabulary between every detector and every report. A data
// race is a pair of accesses to the same bytes by two threads, at least one of
// them a write and at least one of them not atomic, that nothing orders.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/raw.h"
#include "model/event.h"
#include "model/identity.h"

namespace deadheat {

// What an access did to its bytes. Free counts as a write.
enum class AccessKind : std::uint8_t { kRead, kWrite, kAtomicRead, kAtomicWrite, kFree };

// The access that an event of this kind makes, if it makes one. An RMW counts as
// a write: whatever conflicts with its read conflicts with its write.
[[nodiscard]] constexpr std::optional<AccessKind> access_kind(EventKind kind) {
  switch (kind) {
    case EventKind::kRead:
      return AccessKind::kRead;
    case EventKind::kWrite:
      return AccessKind::kWrite;
    case EventKind::kAtomicLoad:
      return AccessKind::kAtomicRead;
    case EventKind::kAtomicStore:
    case EventKind::kAtomicRmw:
      return AccessKind::kAtomicWrite;
    case EventKind::kFree:
      return AccessKind::kFree;
    default:
      return std::nullopt;
  }
}

[[nodiscard]] constexpr bool is_write(AccessKind kind) {
  return kind == AccessKind::kWrite || kind == AccessKind::kAtomicWrite || kind == AccessKind::kFree;
}
[[nodiscard]] constexpr bool is_atomic(AccessKind kind) {
  return kind == AccessKind::kAtomicRead || kind == AccessKind::kAtomicWrite;
}
// Two accesses to the same bytes by different threads need an order exactly
// when this holds. The one definition of "conflict"; every rule follows it.
[[nodiscard]] constexpr bool conflict(AccessKind one, AccessKind other) {
  return (is_write(one) || is_write(other)) && !(is_atomic(one) && is_atomic(other));
}

// The pair in the order in which it was observed: earlier first.
enum class RaceKind : std::uint8_t { kWriteWrite, kReadWrite, kWriteRead, kUseFree, kAtomicPlain };

inline constexpr RaceKind kRaceKinds[] = {RaceKind::kWriteWrite, RaceKind::kReadWrite, RaceKind::kWriteRead,
                                          RaceKind::kUseFree, RaceKind::kAtomicPlain};

// A free on either side decides first, then an atomic, then the directions.
[[nodiscard]] constexpr RaceKind race_kind(AccessKind earlier, AccessKind later) {
  if (earlier == AccessKind::kFree || later == AccessKind::kFree) return RaceKind::kUseFree;
  if (is_atomic(earlier) || is_atomic(later)) return RaceKind::kAtomicPlain;
  if (!is_write(earlier)) return RaceKind::kReadWrite;
  return is_write(later) ? RaceKind::kWriteWrite : RaceKind::kWriteRead;
}

struct HeldLock {
  SyncId lock{};
  LockMode mode = LockMode::kExclusive;
  friend bool operator==(const HeldLock&, const HeldLock&) = default;
};

// What else is known of an access: a set of bits. Live runs tell; traces do not.
enum class AccessTraits : std::uint8_t {
  kNone = 0,
  kVolatile = 1,
  kVptr = 2,          // of the pointer to an object's virtual table
  kLocksUnknown = 4,  // which locks were held is not known any more
  kRange = 8,         // by memcpy, read(2) and the like
  // Of recordings: the instruction at which a sample was taken, or one that was rebuilt from it.
  kSampled = 16,
  kRebuilt = 32,
  kCallersUnknown = 64,  // the stack may have more frames than are told
};
[[nodiscard]] constexpr AccessTraits operator|(AccessTraits one, AccessTraits other) {
  return static_cast<AccessTraits>(raw(one) | raw(other));
}
[[nodiscard]] constexpr bool includes(AccessTraits set, AccessTraits part) { return (raw(set) & raw(part)) != 0; }

// One side of a race.
struct RacingAccess {
  ThreadId thread{};
  std::uint64_t clock = 0;  // the thread's own clock at the access: epoch clock@thread
  AccessKind kind = AccessKind::kRead;
  std::uint64_t size = 0;  // in bytes; 0 when the history did not keep it
  SiteId site = SiteId::kUnknown;
  std::vector<SiteId> stack;    // call sites of the open calls, outermost first
  std::vector<HeldLock> locks;  // in the order of acquisition
  AccessTraits traits = AccessTraits::kNone;
};

// The block of the heap that a race is in, as far as it is known.
struct RacedBlock {
  Address begin = 0;
  std::uint64_t size = 0;              // 0: no block is known
  std::vector<SiteId> allocated = {};  // innermost first; empty: not known
};

// Whether a block is taken for one of members, which are told apart, when pieces of this size are
// accessed; one of more pieces is taken for an array.
[[nodiscard]] constexpr bool has_members(std::uint64_t block_size, std::uint64_t piece) {
  return piece != 0 && block_size <= piece * 8;
}

struct Finding {
  RaceKind kind = RaceKind::kWriteWrite;
  RacingAccess earlier;
  RacingAccess later;
  // The bytes that both touched, as found at the first occurrence.
  Address address = 0;
  std::uint64_t size = 0;
  // Position of the later access in the stream, counted from 0.
  std::uint64_t event_index = 0;
  // How often the same pair (kinds and sites) was found, this one included.
  std::uint64_t occurrences = 1;
  RacedBlock block = {};
};

}  // namespace deadheat
