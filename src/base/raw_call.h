// SPDX-License-Identifier: Apache-2.0
// System calls below libc, for code inside a foreign process: nobody intercepts them, errno
// is not touched, and they work before libc is ready, in signal handlers, in threads that libc
// does not know, and after exit handlers have run.
#pragma once

#include <sys/syscall.h>
#include <time.h>

#include <cstdint>

namespace deadheat {

// The function in front of our own calls since the program confines its own (confinement.h): makes a call that the
// program could make, and answers for the others. nullptr as long as it does not.
using ConfinedCall = long (*)(long number, const long (&arguments)[6]);
__attribute__((visibility("hidden"))) inline constinit ConfinedCall confined_call = nullptr;

// A call of the program's, which is made for it whatever may come of it.
inline long program_call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
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

// As the system call of that number: its result or -errno.
inline long raw_call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
  const ConfinedCall confined = __atomic_load_n(&confined_call, __ATOMIC_ACQUIRE);  // pairs with who sets it
  if (confined != nullptr) [[unlikely]]
    return confined(number, {a, b, c, d, e, f});
  return program_call(number, a, b, c, d, e, f);
}

// Of a result of raw_call().
[[nodiscard]] inline bool is_error(long result) { return result < 0 && result > -4096; }

inline long as_argument(const volatile void* pointer) { return reinterpret_cast<long>(pointer); }

// Of one of the system's clocks, in nanoseconds; 0 if there is no such clock.
[[nodiscard]] inline std::uint64_t read_clock(long clock) {
  timespec time{};
  raw_call(SYS_clock_gettime, clock, as_argument(&time));
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace deadheat
