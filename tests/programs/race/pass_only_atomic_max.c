// SPDX-License-Identifier: Apache-2.0
// An atomic maximum and a plain write. It acquires nothing.
// compilers: clang (g++ has no such operation)
// tsan: misses it (atomic maximum has no hook)
#include "turns.h"

int highest;

static void first(void) { __atomic_fetch_max(&highest, 5, __ATOMIC_RELAXED); }  // race
static void second(void) { highest = 3; }                                       // race

int main(void) {
  in_turn(first, second);
  return 0;
}
