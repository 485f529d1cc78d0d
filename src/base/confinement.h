// SPDX-License-Identifier: Apache-2.0
// Whether a call of prctl() or syscall() confines the process's system calls from then on (seccomp). Our code in
// that process must make no other call than the program may from that moment on: a filter can end the process.
//
// Attempts that cannot succeed are none: libraries ask in this way what the system supports.
#pragma once

#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cstdint>

namespace deadheat {

enum class Confinement : std::uint8_t { kNone, kStrict, kFilter };

struct Confining {
  Confinement kind = Confinement::kNone;
  long program = 0;  // address of the sock_fprog
};

[[nodiscard]] inline Confining confining_prctl(long option, long mode, long program) {
  if (option != PR_SET_SECCOMP) return {};
  if (mode == SECCOMP_MODE_STRICT) return {Confinement::kStrict, 0};
  if (mode == SECCOMP_MODE_FILTER && program != 0) return {Confinement::kFilter, program};
  return {};
}

[[nodiscard]] inline Confining confining_call(long number, long a, long b, long c) {
  if (number == SYS_prctl) return confining_prctl(a, b, c);
  if (number != SYS_seccomp) return {};
  if (a == SECCOMP_SET_MODE_STRICT && b == 0 && c == 0) return {Confinement::kStrict, 0};
  if (a == SECCOMP_SET_MODE_FILTER && c != 0) return {Confinement::kFilter, c};
  return {};
}

}  // namespace deadheat
