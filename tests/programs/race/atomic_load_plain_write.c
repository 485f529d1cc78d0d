// SPDX-License-Identifier: Apache-2.0
// An atomic load against an ordinary write.
#include "turns.h"

int shared;

static void first(void) { use(__atomic_load_n(&shared, __ATOMIC_SEQ_CST)); }  // race
static void second(void) { shared = 1; }                                      // race

int main(void) {
  in_turn(first, second);
  return 0;
}
