// SPDX-License-Identifier: Apache-2.0
// Epoch c@t: the moment c of thread t, in one word (FastTrack).
//
// A thread's time is divided by its releasing operations: its clock advances
// after each. All accesses within one clock value are equally ordered against
// every other thread, so "who and when" needs one number per access instead of
// one per thread. Packed as 24 bits of slot and 40 bits of clock: 16 million
// threads alive at once and 10^12 releases each. Clock 0 is before everything;
// the empty epoch is ordered before every thread.
#pragma once

#include <concepts>
#include <cstdint>

#include "base/check.h"
#include "base/raw.h"

namespace deadheat {

// A component of the vector clocks. A thread has one slot for its life; a slot
// may serve several threads one after another (see happens_before.h).
enum class ThreadSlot : std::uint32_t {};

using Clock = std::uint64_t;

class Epoch {
 public:
  static constexpr int kClockBits = 40;
  static constexpr Clock kMaxClock = (Clock{1} << kClockBits) - 1;

  constexpr Epoch() = default;
  constexpr Epoch(ThreadSlot slot, Clock clock) : bits_((std::uint64_t{raw(slot)} << kClockBits) | clock) {
    DEADHEAT_DCHECK(clock <= kMaxClock);
  }

  [[nodiscard]] constexpr ThreadSlot slot() const {
    return ThreadSlot{static_cast<std::uint32_t>(bits_ >> kClockBits)};
  }
  [[nodiscard]] constexpr Clock clock() const { return bits_ & kMaxClock; }
  [[nodiscard]] constexpr bool is_empty() const { return clock() == 0; }

  friend constexpr bool operator==(Epoch, Epoch) = default;

 private:
  std::uint64_t bits_ = 0;
};

// What a rule needs to know of the accessing thread t: its own epoch C_t[t]@t,
// and how much of every other thread it has seen, C_t[u].
template <class View>
concept ClockView = requires(const View& view, ThreadSlot slot) {
  { view.epoch() } -> std::convertible_to<Epoch>;
  { view.clock_of(slot) } -> std::convertible_to<Clock>;
};

// c@u happens before the current moment of the viewing thread: c <= C_t[u].
template <class View>
[[nodiscard]] constexpr bool happened_before(Epoch epoch, const View& view) {
  return epoch.clock() <= view.clock_of(epoch.slot());
}

}  // namespace deadheat
