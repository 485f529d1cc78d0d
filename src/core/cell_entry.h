// SPDX-License-Identifier: Apache-2.0
// CellEntry: one access in the shadow of an eight-byte word, in one machine word.
//
//   slot:13 clock:19 | mask:8 kind:2 origin:22
//
// Who and when (a short epoch), which of the word's bytes, what was done to them,
// and where it came from (a number for code address, calls and locks held). All
// of it changes by one compare-and-swap, so an entry never names the wrong
// stack. A cell is a handful of entries: two in the direct-mapped shadow, more
// in blocks linked from there.
//
// A short epoch is an Epoch modulo 2^19 clocks of its slot: a slot is used for
// 2^19 releases and then only again once no entry with it is left (see
// runtime/slots.h), so base(slot) + clock is the full clock.
#pragma once

#include <cstdint>

#include "base/check.h"
#include "base/raw.h"
#include "core/access_rules.h"
#include "core/epoch.h"
#include "model/finding.h"

namespace deadheat {

// Where an access came from; 0: not known.
enum class OriginId : std::uint32_t { kUnknown = 0 };

class ShortEpoch {
 public:
  static constexpr int kClockBits = 19;
  static constexpr int kSlotBits = 13;
  static constexpr std::uint32_t kMaxClock = (1U << kClockBits) - 1;
  static constexpr std::uint32_t kMaxSlot = (1U << kSlotBits) - 2;  // the last number marks links

  constexpr ShortEpoch() = default;
  constexpr ShortEpoch(ThreadSlot slot, std::uint32_t clock) : bits_((raw(slot) << kClockBits) | clock) {
    DEADHEAT_DCHECK(raw(slot) <= kMaxSlot && clock <= kMaxClock);
  }
  static constexpr ShortEpoch from_bits(std::uint32_t bits) {
    ShortEpoch result;
    result.bits_ = bits;
    return result;
  }

  [[nodiscard]] constexpr std::uint32_t bits() const { return bits_; }
  [[nodiscard]] constexpr ThreadSlot slot() const { return ThreadSlot{bits_ >> kClockBits}; }
  [[nodiscard]] constexpr std::uint32_t clock() const { return bits_ & kMaxClock; }

  friend constexpr bool operator==(ShortEpoch, ShortEpoch) = default;

 private:
  std::uint32_t bits_ = 0;
};

using ByteMask = std::uint8_t;

class CellEntry {
 public:
  static constexpr int kOriginBits = 22;
  static constexpr std::uint32_t kMaxOrigin = (1U << kOriginBits) - 1;
  static constexpr int kKindShift = kOriginBits;
  static constexpr int kMaskShift = 24;
  static constexpr int kEpochShift = 32;
  static constexpr int kSlotShift = kEpochShift + ShortEpoch::kClockBits;
  static constexpr std::uint64_t kMaskBits = std::uint64_t{0xff} << kMaskShift;
  static constexpr std::uint64_t kKindBits = std::uint64_t{3} << kKindShift;
  static constexpr std::uint64_t kSlotBits = ~std::uint64_t{0} << kSlotShift;
  static constexpr std::uint32_t kCountingClock = 3;  // of slot 0

  constexpr CellEntry() = default;
  constexpr CellEntry(ShortEpoch epoch, ByteMask mask, AccessKind kind, OriginId origin)
      : bits_((std::uint64_t{epoch.bits()} << kEpochShift) | (std::uint64_t{mask} << kMaskShift) |
              (std::uint64_t{kind_code(kind)} << kKindShift) | raw(origin)) {}
  static constexpr CellEntry from_bits(std::uint64_t bits) {
    CellEntry result;
    result.bits_ = bits;
    return result;
  }

  [[nodiscard]] constexpr std::uint64_t bits() const { return bits_; }
  [[nodiscard]] constexpr bool is_empty() const { return bits_ == 0; }
  [[nodiscard]] constexpr ShortEpoch epoch() const {
    return ShortEpoch::from_bits(static_cast<std::uint32_t>(bits_ >> kEpochShift));
  }
  [[nodiscard]] constexpr ThreadSlot slot() const { return epoch().slot(); }
  [[nodiscard]] constexpr ByteMask mask() const { return static_cast<ByteMask>(bits_ >> kMaskShift); }
  [[nodiscard]] constexpr AccessKind kind() const { return kKindOfCode[(bits_ >> kKindShift) & 3U]; }
  [[nodiscard]] constexpr OriginId origin() const { return OriginId{static_cast<std::uint32_t>(bits_ & kMaxOrigin)}; }

  // Not an entry but what stands for more of them (runtime/cell_blocks.h).
  [[nodiscard]] constexpr bool is_mark() const { return (bits_ & kSlotBits) == kSlotBits; }
  [[nodiscard]] constexpr bool has_slot_of(CellEntry other) const { return ((bits_ ^ other.bits_) >> kSlotShift) == 0; }

  // Not an access either: accesses to the word are counted, under this number
  // (runtime/racy_words.h). It covers no bytes, and slot 0 is nobody's: no check accepts
  // it, and nothing races with it.
  static constexpr CellEntry counting(std::uint32_t number) {
    return CellEntry(ShortEpoch(ThreadSlot{0}, kCountingClock), 0, AccessKind::kWrite, OriginId{number});
  }
  [[nodiscard]] constexpr bool is_counting() const { return bits_ >> kEpochShift == kCountingClock; }

  // The entry also covers these bytes.
  [[nodiscard]] constexpr CellEntry with_bytes(ByteMask more) const {
    return from_bits(bits_ | (std::uint64_t{more} << kMaskShift));
  }

  // The entry covers none of these bytes. One that covers none at all is no longer an
  // access but keeps its place (runtime/unsampled.h).
  [[nodiscard]] constexpr CellEntry without_bytes(ByteMask fewer) const {
    return from_bits(bits_ & ~(std::uint64_t{fewer} << kMaskShift));
  }
  [[nodiscard]] constexpr bool has_bytes() const { return (bits_ & kMaskBits) != 0; }

  friend constexpr bool operator==(CellEntry, CellEntry) = default;

  // The rules about kinds, on the two bits of the kind. They are numbered (write 0,
  // read 1, atomic write 2, atomic read 3) such that a kind conflicts with those it
  // shares no bit with, and subsumes those that have all its bits. Below, this is
  // checked against conflict() and subsumes() for all pairs.
  [[nodiscard]] constexpr bool conflicts_with(AccessKind kind) const { return (kind_bits() & kind_code(kind)) == 0; }
  [[nodiscard]] constexpr bool subsumes_kind(AccessKind kind) const { return (kind_bits() & ~kind_code(kind)) == 0; }
  [[nodiscard]] constexpr bool is_subsumed_by(AccessKind kind) const {
    return (kind_bits() & kind_code(kind)) == kind_code(kind);
  }

  // For the one comparison of the hooks: the entry makes an access of this epoch
  // redundant if ((entry ^ wanted) & care) == 0, where `wanted` has the epoch and
  // the bytes.
  static constexpr std::uint64_t care_bits(AccessKind kind, std::uint64_t mask_bits) {
    return 0xffffffff00000000ULL | mask_bits | (std::uint64_t{3U & ~kind_code(kind)} << kKindShift);
  }

 private:
  // A free is a write, its origin says more.
  static constexpr AccessKind kKindOfCode[4] = {AccessKind::kWrite, AccessKind::kRead, AccessKind::kAtomicWrite,
                                                AccessKind::kAtomicRead};
  static constexpr std::uint32_t kind_code(AccessKind kind) {
    switch (kind) {
      case AccessKind::kRead:
        return 1;
      case AccessKind::kAtomicWrite:
        return 2;
      case AccessKind::kAtomicRead:
        return 3;
      default:
        return 0;
    }
  }
  [[nodiscard]] constexpr std::uint32_t kind_bits() const {
    return static_cast<std::uint32_t>(bits_ >> kKindShift) & 3U;
  }

  std::uint64_t bits_ = 0;
};
static_assert(sizeof(CellEntry) == 8);

static_assert([] {
  for (const AccessKind one : kHistories) {
    const CellEntry entry(ShortEpoch{}, 0xff, one, OriginId::kUnknown);
    for (const AccessKind other : kHistories) {
      if (entry.kind() != one || entry.conflicts_with(other) != conflict(one, other)) return false;
      if (entry.subsumes_kind(other) != subsumes(one, other)) return false;
      if (entry.is_subsumed_by(other) != subsumes(other, one)) return false;
    }
  }
  return true;
}());

}  // namespace deadheat
