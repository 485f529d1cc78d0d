// SPDX-License-Identifier: Apache-2.0
// One side is atomic, the other is not.
#include "turns.h"

int shared;

static void first(void) { __atomic_store_n(&shared, 1, __ATOMIC_SEQ_CST); }  // race
static void second(void) { use(shared); }                                    // race

int main(void) {
  in_turn(first, second);
  return 0;
}
