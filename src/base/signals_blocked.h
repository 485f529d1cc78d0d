// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>

#include <cstdint>

#include "base/raw_call.h"

namespace deadheat {

// All signals are blocked during its life. Where int3 is patched into code, only code that is
// never patched may run meanwhile: one would end the process.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    const std::uint64_t all = ~std::uint64_t{0};
    raw_call(SYS_rt_sigprocmask, SIG_BLOCK, as_argument(&all), as_argument(&before_), sizeof before_);
  }
  ~SignalsBlocked() { raw_call(SYS_rt_sigprocmask, SIG_SETMASK, as_argument(&before_), 0, sizeof before_); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  std::uint64_t before_ = 0;
};

}  // namespace deadheat
