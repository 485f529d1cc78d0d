// SPDX-License-Identifier: Apache-2.0
// The upper half of a 16-byte atomic is part of it.
// flags: -mcx16
// tsan: misses it (16-byte atomics are checked as 8 bytes)
#include "turns.h"

union {
  __int128 whole;
  long halves[2];
} shared __attribute__((aligned(16)));

__int128 next = 1;

static void first(void) { shared.halves[1] = 1; }                                      // race
static void second(void) { __atomic_store_n(&shared.whole, next, __ATOMIC_SEQ_CST); }  // race

int main(void) {
  in_turn(first, second);
  return 0;
}
