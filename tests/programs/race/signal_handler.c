// SPDX-License-Identifier: Apache-2.0
// A handler runs in the thread that the signal interrupts, and what it writes is
// that thread's write.
#include "turns.h"

#include <signal.h>

int shared;

static void handler(int number) {
  shared = number;  // race
}

static void first(void) { shared = 1; }  // race
static void second(void) { raise(SIGUSR1); }

int main(void) {
  signal(SIGUSR1, handler);
  in_turn(first, second);
  return 0;
}
