// SPDX-License-Identifier: Apache-2.0
// How fast a program gets on in sampling periods, and in code that checks, compared with code that
// does not.
//
// Processor time is a measure of work only where the detector does not slow the
// program's own code down. In periods it does: locks are held longer, and others wait
// for them; caches and the system's page tables are shared with the detector's
// memory; every check takes its time, in inline code that nobody times. No single event shows that. But
// some things a program does are counted alike inside and outside of periods, with checks and
// without, and periods begin at random. So what is done per
// nanosecond would be the same, and where less is done, that much of the time was not
// work: with enough periods the sampled share of the work becomes the share of what was
// counted.
//
// Few periods say little, since programs do not do the same all the time. A pace is
// therefore taken to be 1 with the weight of some periods, and with that of a number of
// counts.
#pragma once

#include <cstdint>

namespace deadheat {

struct Pace {
  std::uint64_t time = 0;   // nanoseconds
  std::uint64_t count = 0;  // of anything that is done alike
};

// From `least` to 1: the share of the time inside that was work.
[[nodiscard]] inline double pace_inside(Pace inside, Pace outside, double doubt_time, double doubt_count,
                                        double least) {
  if (outside.time == 0 || outside.count == 0) return 1;
  const double per_time = static_cast<double>(outside.count) / static_cast<double>(outside.time);
  const double doubt = doubt_time * per_time + doubt_count;
  const double expected = static_cast<double>(inside.time) * per_time + doubt;
  const double pace = (static_cast<double>(inside.count) + doubt) / expected;
  return pace < least ? least : pace > 1 ? 1 : pace;
}

}  // namespace deadheat
