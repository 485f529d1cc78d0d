// SPDX-License-Identifier: Apache-2.0
// The last byte of an atomic of each size.
#include "turns.h"

union {
  unsigned char one;
  unsigned short two;
  unsigned four;
  unsigned long eight;
  unsigned char bytes[8];
} shared[4];

static void first(void) {
  __atomic_store_n(&shared[0].one, 1, __ATOMIC_RELAXED);    // race: A
  __atomic_store_n(&shared[1].two, 1, __ATOMIC_RELAXED);    // race: B
  __atomic_store_n(&shared[2].four, 1, __ATOMIC_RELAXED);   // race: C
  __atomic_store_n(&shared[3].eight, 1, __ATOMIC_RELAXED);  // race: D
}

static void second(void) {
  use(shared[0].bytes[0]);  // race: A
  use(shared[1].bytes[1]);  // race: B
  use(shared[2].bytes[3]);  // race: C
  use(shared[3].bytes[7]);  // race: D
}

int main(void) {
  in_turn(first, second);
  return 0;
}
