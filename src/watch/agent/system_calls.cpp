// SPDX-License-Identifier: Apache-2.0
// Calls of the system that a program makes itself. A filter of system calls (seccomp) may end the process at the
// agent's next one: watching is over before it is set. Locks that are made of futexes tick the clock.
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "base/replaced_functions.h"
#include "watch/agent/control.h"
#include "watch/agent/signals.h"
#include "watch/agent/threads.h"

using namespace deadheat::watch;

namespace {

void finish_before_filter() {
  if (!is_watching() || !is_own_process()) return;
  finish_watching("the program confines its system calls (seccomp): watching ends here");
}

}  // namespace

DEADHEAT_REPLACE(int, prctl, int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d) {
  DEADHEAT_ORIGINAL(prctl);
  if (option == PR_SET_SECCOMP) finish_before_filter();
  return original(option, a, b, c, d);
}

DEADHEAT_REPLACE(long, syscall, long number, long a, long b, long c, long d, long e, long f) {
  DEADHEAT_ORIGINAL(syscall);
  if (number == SYS_futex) tick_clock();
  if (number == SYS_seccomp && (a == SECCOMP_SET_MODE_FILTER || a == SECCOMP_SET_MODE_STRICT)) finish_before_filter();
  return original(number, a, b, c, d, e, f);
}
