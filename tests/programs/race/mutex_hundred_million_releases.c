// SPDX-License-Identifier: Apache-2.0
// More than a hundred million releases between the two accesses.
// long: a hundred million releases
// tsan: misses it (all is forgotten after four million releases)
#include "turns.h"

int flag;
int shared;

static void first(void) { shared = 1; }  // race

static void second(void) {
  for (int i = 0; i < 101000000; i++) __atomic_store_n(&flag, i, __ATOMIC_RELEASE);
  shared = 2;  // race
}

int main(void) {
  in_turn(first, second);
  return 0;
}
