// SPDX-License-Identifier: Apache-2.0
// ColdCodeSampler: LiteRace's rule of which calls are sampled (core/literace.h), for
// traces and for running programs.
#pragma once

#include <cstdint>

namespace deadheat {

// Of one function in one thread. All calls at first; after a burst of ten 10%, then 1%,
// then 0.1%, in bursts of ten throughout.
class ColdCodeSampler {
 public:
  static constexpr std::uint32_t kBurst = 10;
  static constexpr std::uint32_t kFloor = 1000;  // one call in so many

  // A call begins. Whether it is sampled.
  [[nodiscard]] bool enter() {
    if (skip_ != 0) {
      --skip_;
      return false;
    }
    if (++in_burst_ < kBurst) return true;
    in_burst_ = 0;
    one_in_ = one_in_ < kFloor ? one_in_ * 10 : kFloor;
    skip_ = kBurst * (one_in_ - 1);
    return true;
  }

 private:
  std::uint32_t one_in_ = 1;
  std::uint32_t in_burst_ = 0;  // sampled of the current burst
  std::uint32_t skip_ = 0;      // calls before the next one
};

}  // namespace deadheat
