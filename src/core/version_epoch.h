// SPDX-License-Identifier: Apache-2.0
// Versions: names for the values that a thread's vector clock takes.
//
// A thread's clock only grows. Each value that it takes gets a version, larger than
// all before, so "I have received version 7 of thread t" answers in O(1) what a
// comparison of two vectors would find out: every clock that t had up to version 7
// is contained in mine. A version epoch v@t names one value; a version vector says
// which versions of every thread a thread has received (PACER paper, section 3.2).
//
// Versions are not clocks: a clock is a component of what threads hand to each
// other, a version is a name for the whole of it. Were a thread to advance its
// clock instead whenever it learns something, that would be news for others, who
// would have to advance theirs: two threads that take turns at a lock would
// exchange news for ever. Versions change only when contents do, and contents
// settle.
//
// Versions rise also over the threads that use a slot one after another.
#pragma once

#include <cstdint>

#include "base/growable_array.h"
#include "core/epoch.h"

namespace deadheat {

using Version = std::uint64_t;

// v@t. A null one names nothing: what it stands for has come from several threads.
struct VersionEpoch {
  ThreadSlot slot{};
  Version version = 0;

  [[nodiscard]] constexpr bool is_null() const { return version == 0; }
  friend constexpr bool operator==(VersionEpoch, VersionEpoch) = default;
};

template <class Source = HeapSource>
class BasicVersionVector {
 public:
  [[nodiscard]] Version of(ThreadSlot slot) const { return raw(slot) < versions_.size() ? versions_[raw(slot)] : 0; }

  void raise(VersionEpoch received) {
    if (received.version <= of(received.slot)) return;
    if (raw(received.slot) >= versions_.size()) versions_.resize(raw(received.slot) + 1);
    versions_[raw(received.slot)] = received.version;
  }

  void reset() { versions_.reset(); }

 private:
  GrowableArray<Version, Source> versions_;  // by slot; 0 is none
};

}  // namespace deadheat
