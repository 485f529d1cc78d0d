// SPDX-License-Identifier: Apache-2.0
// Calls of the system that a program makes itself. A filter of system calls (seccomp) may end the process at the
// agent's next one: watching is over before it is set. Locks that are made of futexes tick the clock.
#include <sys/syscall.h>

#include "base/confinement.h"
#include "base/replaced_functions.h"
#include "watch/agent/control.h"
#include "watch/agent/signals.h"
#include "watch/agent/threads.h"

using namespace deadheat::watch;

namespace {

void finish_before_filter(const deadheat::Confining& confining) {
  if (confining.kind == deadheat::Confinement::kNone) return;
  if (!is_watching() || !is_own_process()) return;
  note_confined();
  finish_watching("the program confines its system calls (seccomp): watching ends here");
}

}  // namespace

DEADHEAT_REPLACE(int, prctl, int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d) {
  DEADHEAT_ORIGINAL(prctl);
  finish_before_filter(deadheat::confining_prctl(option, static_cast<long>(a), static_cast<long>(b)));
  return original(option, a, b, c, d);
}

// Left by a jump: libc looks who calls.
DEADHEAT_REPLACE(void*, dlopen, const char* file, int flags) {
  DEADHEAT_ORIGINAL(dlopen);
  end_patching();
  return original(file, flags);
}

DEADHEAT_REPLACE(long, syscall, long number, long a, long b, long c, long d, long e, long f) {
  DEADHEAT_ORIGINAL(syscall);
  if (number == SYS_futex) tick_clock();
  finish_before_filter(deadheat::confining_call(number, a, b, c));
  return original(number, a, b, c, d, e, f);
}
