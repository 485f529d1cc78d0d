// SPDX-License-Identifier: Apache-2.0
// A small seeded generator (splitmix64): the same seed gives the same sequence
// on every machine and with every standard library, which the distributions of
// <random> do not promise. Not for cryptography.
#pragma once

#include <cstdint>

#include "base/check.h"

namespace deadheat {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebULL;
    return mixed ^ (mixed >> 31);
  }

  // Uniform in [0, bound); bound > 0. The bias of the multiply-shift reduction
  // is below bound / 2^64 and does not matter here.
  std::uint64_t below(std::uint64_t bound) {
    DEADHEAT_DCHECK(bound > 0);
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>((Wide{next()} * Wide{bound}) >> 64);
  }

  // True with the given probability.
  bool chance(double probability) { return static_cast<double>(next() >> 11) * 0x1.0p-53 < probability; }

 private:
  std::uint64_t state_;
};

}  // namespace deadheat
