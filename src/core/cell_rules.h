// SPDX-License-Identifier: Apache-2.0
// The access rules for cells of entries: the same rules as in access_rules.h,
// said of one entry at a time.
//
// access_rules.h speaks of one location with four histories. A cell has the
// entries of eight locations, each entry naming the bytes it is about, and any
// number of them; so FastTrack's question "what is the history now?" becomes
// "which entry may make room?":
//
//   Race.      An entry races with an access when they share bytes, their kinds
//              conflict, and the entry does not happen before the access.
//   Redundant. An entry may go when the access covers all its bytes, subsumes
//              its kind and is ordered after it. A plain write also replaces
//              what it races with: that has been reported, and the write is now
//              what later accesses collide with.
//   Obsolete.  An entry that happens before every thread there is can never race
//              again: threads only learn, and new ones inherit.
//   Covered.   Of two entries of one thread the older may go when the younger
//              subsumes it on all its bytes, the access helping.
//   Merge.     The same epoch and kind on further bytes; the origins are combined
//              such that each byte's can be told (runtime/origins.h).
//
// An entry that is merely redundant may also stay: whoever races with it races
// with the younger access too. So room is made lazily, when it is needed, and
// each change is a single entry. That is what lets the online detector work
// with one compare-and-swap and no lock: publish the own entry first, then look
// at the others. Of two threads that do this at the same time at least one sees
// the other's entry.
#pragma once

#include <concepts>
#include <cstdint>

#include "core/access_rules.h"
#include "core/cell_entry.h"

namespace deadheat {

struct CellAccess {
  ShortEpoch epoch;
  ByteMask mask = 0;
  AccessKind kind = AccessKind::kRead;
  OriginId origin = OriginId::kUnknown;

  [[nodiscard]] constexpr CellEntry entry() const { return CellEntry(epoch, mask, kind, origin); }
};

// How much the accessing thread, and how much every thread, knows.
template <class View>
concept CellView = requires(const View& view, CellEntry entry) {
  { view.happened_before(entry) } -> std::convertible_to<bool>;
  { view.is_obsolete(entry) } -> std::convertible_to<bool>;
  // Whether everybody who knows the second entry's access knows the first one's.
  { view.is_known_with(entry, entry) } -> std::convertible_to<bool>;
  // The origin of an entry to which an access with another origin adds these
  // bytes; kUnknown if there is none, then they are not merged.
  { view.combine(OriginId{}, OriginId{}, ByteMask{}) } -> std::convertible_to<OriginId>;
};

// The thread made a subsuming access to all these bytes in this epoch: nothing to
// do. A free is recorded all the same, so that reports name it.
[[nodiscard]] constexpr bool is_same_epoch(CellEntry entry, const CellAccess& access) {
  return access.kind != AccessKind::kFree && entry.epoch() == access.epoch && (access.mask & ~entry.mask()) == 0 &&
         entry.subsumes_kind(access.kind);
}

template <CellView View>
[[nodiscard]] constexpr bool is_race(CellEntry entry, const CellAccess& access, const View& view) {
  return (entry.mask() & access.mask) != 0 && entry.conflicts_with(access.kind) &&
         entry.slot() != access.epoch.slot() && !view.happened_before(entry);
}

[[nodiscard]] constexpr bool can_merge(CellEntry entry, const CellAccess& access) {
  return entry.epoch() == access.epoch && entry.kind() == history_of(access.kind) && !entry.is_empty();
}

// The entry with the access merged into it; empty when that is impossible.
template <CellView View>
[[nodiscard]] constexpr CellEntry merged(CellEntry entry, const CellAccess& access, const View& view) {
  if (entry.origin() == access.origin) return entry.with_bytes(access.mask);
  const OriginId origin = view.combine(entry.origin(), access.origin, access.mask);
  if (origin == OriginId::kUnknown) return CellEntry{};
  return CellEntry(access.epoch, static_cast<ByteMask>(entry.mask() | access.mask), access.kind, origin);
}

template <CellView View>
[[nodiscard]] constexpr bool is_redundant(CellEntry entry, const CellAccess& access, const View& view) {
  if ((entry.mask() & ~access.mask) != 0) return false;
  if (history_of(access.kind) == AccessKind::kWrite) return true;
  return entry.is_subsumed_by(access.kind) && view.happened_before(entry);
}

template <CellView View>
[[nodiscard]] constexpr bool may_go(CellEntry entry, const CellAccess& access, const View& view) {
  return !entry.has_bytes() || is_redundant(entry, access, view) || view.is_obsolete(entry);
}

// What an access that is not sampled leaves of an entry (PACER paper, Table 4): not
// those bytes on which the access would have taken its place. What is left may have
// no bytes.
template <CellView View>
[[nodiscard]] constexpr CellEntry left_by_unsampled(CellEntry entry, const CellAccess& access, const View& view) {
  if (view.is_obsolete(entry)) return entry.without_bytes(0xff);
  const bool replaces = history_of(access.kind) == AccessKind::kWrite ||
                        (entry.is_subsumed_by(access.kind) && view.happened_before(entry));
  return replaces ? entry.without_bytes(access.mask) : entry;
}

// `older` is made redundant by `younger` together with the access.
template <CellView View>
[[nodiscard]] constexpr bool is_covered(CellEntry older, CellEntry younger, const CellAccess& access,
                                        const View& view) {
  if (older.is_empty() || younger.is_empty() || !view.is_known_with(older, younger)) return false;
  if (!older.is_subsumed_by(younger.kind())) return false;
  ByteMask left = static_cast<ByteMask>(older.mask() & ~younger.mask());
  if (left != 0 && older.is_subsumed_by(access.kind) && view.happened_before(older)) {
    left = static_cast<ByteMask>(left & ~access.mask);
  }
  return left == 0;
}

// A plan for a cell of two entries: which of them the access takes.
struct CellPlan {
  enum class Step : std::uint8_t {
    kNothing,  // same epoch
    kPlace,    // entry `index` becomes `value`
    kExtend,   // both must stay: the cell needs more room
  };
  Step step = Step::kNothing;
  std::uint8_t index = 0;
  CellEntry value;
};

template <CellView View>
[[nodiscard, gnu::always_inline]] constexpr CellPlan plan_access(const CellEntry (&entries)[2],
                                                                 const CellAccess& access, const View& view) {
  using Step = CellPlan::Step;
  if (is_same_epoch(entries[0], access) || is_same_epoch(entries[1], access)) return {};
  for (std::uint8_t index = 0; index < 2; ++index) {
    if (!can_merge(entries[index], access)) continue;
    const CellEntry together = merged(entries[index], access, view);
    if (!together.is_empty()) return {Step::kPlace, index, together};
  }
  for (std::uint8_t index = 0; index < 2; ++index) {
    if (may_go(entries[index], access, view)) return {Step::kPlace, index, access.entry()};
  }
  for (std::uint8_t index = 0; index < 2; ++index) {
    if (is_covered(entries[index], entries[1 - index], access, view)) return {Step::kPlace, index, access.entry()};
  }
  return {Step::kExtend, 0, access.entry()};
}

// The common cases of plan_access, for speed. `own` is the access as an entry. kAsk:
// not one of these cases, plan_access decides. A test compares them with it.
enum class QuickPlan : std::uint8_t { kFirst, kFirstMerged, kSecond, kSecondMerged, kAsk };

namespace rules {

template <AccessKind kKind>
[[gnu::always_inline]] constexpr bool may_make_room(CellEntry entry, CellEntry own) {
  return (entry.bits() & ~own.bits() & CellEntry::kMaskBits) == 0 && entry.is_subsumed_by(kKind);
}

// The same epoch and kind: all but bytes and origin.
[[gnu::always_inline]] constexpr bool merges(CellEntry entry, CellEntry own) {
  return ((entry.bits() ^ own.bits()) & ~CellEntry::kMaskBits) <= CellEntry::kMaxOrigin;
}

// In this epoch or an earlier one.
[[gnu::always_inline]] constexpr bool is_same_access(CellEntry entry, CellEntry own) {
  constexpr std::uint64_t kSame = CellEntry::kSlotBits | CellEntry::kMaskBits | CellEntry::kKindBits;
  return ((entry.bits() ^ own.bits()) & kSame) == 0;
}

}  // namespace rules

// What loops are made of: the first access to a word, further bytes of it, the same
// access in a later epoch. The other entry is such that it cannot race.
template <AccessKind kKind>
[[nodiscard, gnu::always_inline]] constexpr QuickPlan next_in_loop(CellEntry first, CellEntry second, CellEntry own) {
  const auto is_harmless = [&](CellEntry entry) {
    return entry.is_empty() || entry.has_slot_of(own) || (!entry.conflicts_with(kKind) && !entry.is_mark());
  };
  if (!is_harmless(second)) return QuickPlan::kAsk;
  if (rules::is_same_access(first, own)) return QuickPlan::kFirst;
  if (rules::merges(first, own)) return QuickPlan::kFirstMerged;
  if (first.is_empty()) return second.is_empty() ? QuickPlan::kFirst : QuickPlan::kAsk;
  if (!is_harmless(first)) return QuickPlan::kAsk;
  if (first.has_slot_of(own) && rules::may_make_room<kKind>(first, own)) return QuickPlan::kFirst;
  if (rules::is_same_access(second, own) || second.is_empty()) return QuickPlan::kSecond;
  return rules::merges(second, own) ? QuickPlan::kSecondMerged : QuickPlan::kAsk;
}

// Neither entry races with the access, and one of them may go.
template <AccessKind kKind, CellView View>
[[nodiscard, gnu::always_inline]] constexpr QuickPlan quick_plan(CellEntry first, CellEntry second, CellEntry own,
                                                                 const View& view) {
  const auto is_ordered = [&](CellEntry entry) {
    return entry.has_slot_of(own) || entry.is_empty() || view.happened_before(entry);
  };
  const auto collides = [&](CellEntry entry) {
    return entry.conflicts_with(kKind) && (entry.bits() & own.bits() & CellEntry::kMaskBits) != 0;
  };
  const bool first_is_ordered = is_ordered(first);
  const bool second_is_ordered = is_ordered(second);
  if (!first_is_ordered && collides(first)) return QuickPlan::kAsk;
  if (!second_is_ordered && collides(second)) return QuickPlan::kAsk;
  if (first.is_empty() || (first_is_ordered && rules::may_make_room<kKind>(first, own))) return QuickPlan::kFirst;
  if (rules::merges(first, own)) return QuickPlan::kFirstMerged;
  if (second.is_empty() || (second_is_ordered && rules::may_make_room<kKind>(second, own))) return QuickPlan::kSecond;
  if (rules::merges(second, own)) return QuickPlan::kSecondMerged;
  if (view.is_obsolete(first)) return QuickPlan::kFirst;
  if (view.is_obsolete(second)) return QuickPlan::kSecond;
  // Two of one slot: the younger may cover the older, the access helping.
  if (!first_is_ordered || !second_is_ordered || !first.has_slot_of(second)) return QuickPlan::kAsk;
  const bool first_is_older = first.epoch().clock() < second.epoch().clock() ||
                              (first.epoch() == second.epoch() && first.is_subsumed_by(second.kind()));
  const CellEntry older = first_is_older ? first : second;
  const CellEntry younger = first_is_older ? second : first;
  const std::uint64_t covered = younger.bits() | (older.is_subsumed_by(kKind) ? own.bits() : 0);
  if ((older.bits() & ~covered & CellEntry::kMaskBits) != 0 || !older.is_subsumed_by(younger.kind())) {
    return QuickPlan::kAsk;
  }
  return first_is_older ? QuickPlan::kFirst : QuickPlan::kSecond;
}

}  // namespace deadheat
