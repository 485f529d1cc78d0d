// SPDX-License-Identifier: Apache-2.0
// An ordinary write, then a read-modify-write.
#include "turns.h"

long shared;

static void first(void) { shared = 1; }                                              // race
static void second(void) { use(__atomic_fetch_add(&shared, 1, __ATOMIC_ACQ_REL)); }  // race

int main(void) {
  in_turn(first, second);
  return 0;
}
