// SPDX-License-Identifier: Apache-2.0
// Calls of the system that a program makes itself. Futexes by hand are synchronisation that nobody logs. After a filter
// of system calls (seccomp) is set, a call of ours may end the process: the log ends before.
#include <sys/syscall.h>

#include "base/confinement.h"
#include "base/replaced_functions.h"
#include "record/agent/log.h"

using namespace deadheat;
using namespace deadheat::record;

DEADHEAT_REPLACE(int, prctl, int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d) {
  DEADHEAT_ORIGINAL(prctl);
  const auto confining = confining_prctl(option, static_cast<long>(a), static_cast<long>(b));
  if (confining.kind != Confinement::kNone) stop_for_confinement();
  return original(option, a, b, c, d);
}

DEADHEAT_REPLACE(long, syscall, long number, long a, long b, long c, long d, long e, long f) {
  DEADHEAT_ORIGINAL(syscall);
  if (number == SYS_futex) log_before(LogKind::kFutex, static_cast<std::uint64_t>(a), 0, DEADHEAT_CALLER);
  const auto confining = confining_call(number, a, b, c);
  if (confining.kind != Confinement::kNone) stop_for_confinement();
  return original(number, a, b, c, d, e, f);
}
