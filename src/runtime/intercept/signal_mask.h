// SPDX-License-Identifier: Apache-2.0
// The mask of blocked signals, by system calls: libc's functions leave out the
// signals that it uses itself.
#pragma once

#include <signal.h>
#include <sys/syscall.h>

#include <cstdint>

#include "runtime/system.h"

namespace deadheat::runtime {

using KernelMask = std::uint64_t;

// Returns the mask before.
inline KernelMask change_mask(int how, KernelMask mask) {
  KernelMask old = 0;
  raw_call(SYS_rt_sigprocmask, how, reinterpret_cast<long>(&mask), reinterpret_cast<long>(&old), sizeof(KernelMask));
  return old;
}

class AllSignalsBlocked {
 public:
  AllSignalsBlocked() : before_(change_mask(SIG_BLOCK, ~KernelMask{0})) {}
  ~AllSignalsBlocked() { change_mask(SIG_SETMASK, before_); }
  AllSignalsBlocked(const AllSignalsBlocked&) = delete;
  AllSignalsBlocked& operator=(const AllSignalsBlocked&) = delete;
  [[nodiscard]] KernelMask before() const { return before_; }

 private:
  KernelMask before_;
};

}  // namespace deadheat::runtime
