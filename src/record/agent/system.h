// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/raw_call.h"

namespace deadheat::record {

[[nodiscard]] inline bool is_error(long result) { return result < 0 && result > -4096; }

// All signals are blocked during its life.
class SignalsBlocked {
 public:
  SignalsBlocked();
  ~SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  std::uint64_t before_ = 0;
};

}  // namespace deadheat::record
