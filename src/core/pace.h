// SPDX-License-Identifier: Apache-2.0
// How much work a program has done, however much slower a detector makes it.
//
// Processor time is a measure of work only where the detector does not slow the
// program's own code down. In periods it does: locks are held longer, and others wait
// for them; caches and the system's page tables are shared with the detector's
// memory; every check takes its time, in inline code that nobody times. What can be timed are
// single events, a few of them, which is far from exact.
//
// But how far the program gets is counted alike inside and outside of periods, with checks and
// without: instructions, roughly. So work is what was counted, and the sampled share of the work
// is the share of what was counted, however slow periods are. Unlike anything that is
// divided by a measured speed it never shrinks when more becomes known.
//
// Code that is not counted (a library without checks) shows no progress. So time is
// counted as well, little of it: in code that counts it makes no difference. Of that, what
// the detector is known to have taken is left out.
//
// How much of it the program does per nanosecond where nothing slows it down, its pace, is only
// needed to say how long a millisecond of work is.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace deadheat {

// What was done in one mode: without checks, with checks, in periods.
class Pace {
 public:
  // `time` and `cost` are nanoseconds; cost is at times known later than the time that it
  // was part of.
  void add(std::uint64_t time, std::uint64_t cost, std::uint64_t count) {
    owed_ += cost;
    // Whatever was measured, somebody is working.
    const std::uint64_t most = time - time / kLeastWork;
    const std::uint64_t paid = owed_ < most ? owed_ : most;
    owed_ -= paid;
    net_time_ += time - paid;
    time_ += time;
    count_ += count;
  }

  [[nodiscard]] std::uint64_t work() const { return count_ + net_time_ / kTimePerCount; }
  [[nodiscard]] std::uint64_t net_time() const { return net_time_; }
  // With what the detector took.
  [[nodiscard]] std::uint64_t time() const { return time_; }

 private:
  static constexpr std::uint64_t kLeastWork = 8;
  static constexpr std::uint64_t kTimePerCount = 1000;

  std::uint64_t net_time_ = 0;
  std::uint64_t time_ = 0;
  std::uint64_t count_ = 0;
  std::uint64_t owed_ = 0;  // cost that is more than the time so far
};

// Work per nanosecond, of the first modes that have been on for long enough to tell: those that
// slow the program down least come first. Until then one, as a guess.
[[nodiscard]] inline double pace_of(const Pace& unchecked, const Pace& checked, const Pace& inside,
                                    std::uint64_t enough) {
  std::uint64_t work = 0;
  std::uint64_t time = 0;
  for (const Pace* mode : {&unchecked, &checked, &inside}) {
    work += mode->work();
    time += mode->net_time();
    if (time >= enough) break;
  }
  const double guessed = static_cast<double>(enough) / 8;
  return (static_cast<double>(work) + guessed) / (static_cast<double>(time) + guessed);
}

}  // namespace deadheat
