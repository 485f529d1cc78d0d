// SPDX-License-Identifier: Apache-2.0
// What every single event must satisfy, whatever file it comes from. Readers
// and writers of all formats call this, so that detectors may index tables by
// a thread and add a size to an address without looking again. Rules between
// events (a release needs its acquire) are not here but in the trace checker.
//
//   kind      one of event_kinds.def.
//   thread    below kThreadLimit; so is the other thread of Fork, Join, Detach.
//   size      1 .. kMaxAccessSize for Read, Write and the atomic accesses; at
//             least 1 for BenignRange. Alloc and Free may have size 0, because
//             malloc(0) yields an address that free() receives.
//   range     address + size fits into 64 bits: the end of a range is a number.
//   detail    a memory order below 6, lock bits below 4, a flavour below 2, an
//             ignore set within 1 .. 7.
//   depth     anything for lock events and condition waits.
//   unused    a field that has no meaning for the kind is 0. This lets formats
//             that write only the meaningful fields round-trip every event.
//   site      anything; numbers beyond the dictionary are unknown places.
#pragma once

#include <cstdint>
#include <limits>

#include "base/raw.h"
#include "base/result.h"
#include "model/event.h"

namespace deadheat {

[[nodiscard]] constexpr bool is_access(EventKind kind) { return kind <= EventKind::kAtomicRmw; }

// The greatest object that an event may name, given all its other fields.
// Requires a known kind.
[[nodiscard]] constexpr std::uint64_t greatest_object(EventKind kind, std::uint64_t extent) {
  switch (info(kind).object) {
    case ObjectMeaning::kNone:
      return 0;
    case ObjectMeaning::kAddress:
      return std::numeric_limits<std::uint64_t>::max() - extent;
    case ObjectMeaning::kThread:
      return kThreadLimit - 1;
    case ObjectMeaning::kSync:
      break;
  }
  return std::numeric_limits<std::uint64_t>::max();
}

// kInvalid with the rule that is broken: "size 0 of read is outside 1 .. 16777216".
Status validate(const Event& event);

// The same verdict without the words.
[[nodiscard]] bool is_valid(const Event& event);

}  // namespace deadheat
