// SPDX-License-Identifier: Apache-2.0
// The cold-code sampler looks at functions that run once, whatever runs beside them.
// options: sampler=cold
// record: no (a sampler has no trace)
#include "turns.h"

int shared;
int busy[2];

__attribute__((noinline)) static void work(int thread) { busy[thread]++; }

static void first(void) {
  int i;
  for (i = 0; i < 5000; i++) work(0);
  shared = 1;  // race
}

static void second(void) {
  int i;
  for (i = 0; i < 5000; i++) work(1);
  shared = 2;  // race
}

int main(void) {
  in_turn(first, second);
  return 0;
}
