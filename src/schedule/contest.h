// SPDX-License-Identifier: Apache-2.0
// ConTest: noise. At a synchronisation point a thread sleeps for a random time with some
// probability (Edelstein et al., "Framework for testing multi-threaded Java programs",
// 2003). It knows nothing of the program and promises nothing, but costs little thought,
// never suspends anybody, and finds what needs only a short shift.
//
// Half of the delays are mere yields; the others are spread evenly over the orders of
// magnitude from a microsecond to four milliseconds, because nobody knows which is the
// right one. How dense the noise is differs from run to run. A program with a million
// points must not crawl: after the first points delays become rarer, so that their number
// grows with the logarithm of the length of the run.
#pragma once

#include <cstdint>

#include "base/random.h"
#include "schedule/strategy.h"

namespace deadheat::schedule {

class ConTest final : public Strategy {
 public:
  explicit ConTest(const Settings& settings) : random_(settings.seed) {
    density_ = 1.0 / static_cast<double>(std::uint64_t{2} << random_.below(4));
  }

  Decision on_request(const Request& /*request*/) override { return noise(); }
  Decision on_point(ThreadNumber /*thread*/) override { return noise(); }

 private:
  static constexpr std::uint64_t kFullNoise = 1000;  // points
  static constexpr std::uint64_t kYield = 1;
  static constexpr std::uint64_t kShortest = 1000;  // nanoseconds
  static constexpr std::uint64_t kDoublings = 12;

  [[nodiscard]] Decision noise() {
    ++steps_;
    const double thinned = steps_ <= kFullNoise ? 1 : static_cast<double>(kFullNoise) / static_cast<double>(steps_);
    if (!random_.chance(density_ * thinned)) return kGo;
    if (random_.chance(0.5)) return {Verdict::kGo, kYield};
    const std::uint64_t magnitude = kShortest << random_.below(kDoublings);
    return {Verdict::kGo, magnitude + random_.below(magnitude)};
  }

  Random random_;
  double density_;  // of delays, from 1/2 to 1/16
  std::uint64_t steps_ = 0;
};

}  // namespace deadheat::schedule
