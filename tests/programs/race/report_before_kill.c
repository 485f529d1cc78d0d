// SPDX-License-Identifier: Apache-2.0
// The report has left the process before the program is killed.
// exit: any
#include "turns.h"

#include <signal.h>

int shared;

static void first(void) { shared = 1; }  // race

static void second(void) {
  shared = 2;  // race
  raise(SIGKILL);
}

int main(void) {
  in_turn(first, second);
  return 0;
}
