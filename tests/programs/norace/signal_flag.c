// SPDX-License-Identifier: Apache-2.0
// A handler and the code that it interrupts, in one thread.
#include "turns.h"

#include <signal.h>

volatile sig_atomic_t seen;
int plain;

static void handler(int number) {
  seen = number;
  plain++;
}

int main(void) {
  signal(SIGUSR1, handler);
  for (int i = 0; i < 100; i++) {
    plain++;
    raise(SIGUSR1);
  }
  return seen == SIGUSR1 && plain == 200 ? 0 : 1;
}
