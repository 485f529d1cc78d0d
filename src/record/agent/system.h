// SPDX-License-Identifier: Apache-2.0
// The system below libc: our own calls must not come back to us.
#pragma once

#include <cstddef>
#include <cstdint>

namespace deadheat::record {

// As the system call: the result or -errno.
inline long raw_call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
  long result = 0;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

inline long as_argument(const volatile void* pointer) { return reinterpret_cast<long>(pointer); }
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
