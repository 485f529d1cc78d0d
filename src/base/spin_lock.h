// SPDX-License-Identifier: Apache-2.0
// A lock for short sections inside a foreign process: spins, then yields. Not recursive. Who
// takes it must not be interrupted by a handler that wants it, too.
#pragma once

#include <sys/syscall.h>

#include <cstdint>

#include "base/raw_call.h"

namespace deadheat {

class SpinLock {
 public:
  void lock() {
    if (__atomic_exchange_n(&held_, 1U, __ATOMIC_ACQUIRE) != 0) [[unlikely]]  // pairs with unlock()
      lock_slow();
  }
  // False if somebody has it.
  [[nodiscard]] bool try_lock() {
    return __atomic_exchange_n(&held_, 1U, __ATOMIC_ACQUIRE) == 0;
  }  // pairs with unlock()
  void unlock() { __atomic_store_n(&held_, 0U, __ATOMIC_RELEASE); }  // pairs with lock()
  // In the child of a fork, where the holder does not exist any more.
  void reset() { __atomic_store_n(&held_, 0U, __ATOMIC_RELAXED); }

 private:
  [[gnu::noinline]] void lock_slow() {
    // Who looks too often takes the line away from who has the lock.
    constexpr std::uint32_t kMostPauses = 64;
    constexpr std::uint32_t kPatience = 16;
    std::uint32_t pauses = 1;
    for (std::uint32_t tries = 0;; ++tries) {
      if (tries > kPatience) {
        raw_call(SYS_sched_yield);
      } else {
        for (std::uint32_t pause = 0; pause < pauses; ++pause) __builtin_ia32_pause();
        if (pauses < kMostPauses) pauses *= 2;
      }
      if (__atomic_load_n(&held_, __ATOMIC_RELAXED) == 0 && __atomic_exchange_n(&held_, 1U, __ATOMIC_ACQUIRE) == 0) {
        return;
      }
    }
  }

  std::uint32_t held_ = 0;
};

class SpinHolder {
 public:
  explicit SpinHolder(SpinLock& lock) : lock_(lock) { lock_.lock(); }
  ~SpinHolder() { lock_.unlock(); }
  SpinHolder(const SpinHolder&) = delete;
  SpinHolder& operator=(const SpinHolder&) = delete;

 private:
  SpinLock& lock_;
};

}  // namespace deadheat
