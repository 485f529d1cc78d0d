// SPDX-License-Identifier: Apache-2.0
// A signal handler that runs for the first time is looked at, also when it interrupts a
// call that the cold-code sampler does not look at. So is what follows that call.
// options: sampler=cold
// record: no (a sampler has no trace)
#include "turns.h"

#include <signal.h>

int in_handler;
int afterwards;

static void handle(int number) {
  in_handler = number;  // race: handler
}

__attribute__((noinline)) static void work(int raises) {
  if (raises != 0) raise(SIGUSR1);
}

static void first(void) {
  int i;
  for (i = 0; i <= 5000; i++) work(i == 5000);
  afterwards = 1;  // race: afterwards
}

static void second(void) {
  in_handler = 2;  // race: handler
  afterwards = 2;  // race: afterwards
}

int main(void) {
  signal(SIGUSR1, handle);
  in_turn(first, second);
  return 0;
}
