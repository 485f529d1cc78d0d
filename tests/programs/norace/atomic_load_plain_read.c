// SPDX-License-Identifier: Apache-2.0
// Two reads do not race, atomic or not.
#include "turns.h"

int shared;

static void first(void) { use(shared); }
static void second(void) { use(__atomic_load_n(&shared, __ATOMIC_RELAXED)); }

int main(void) {
  in_turn(first, second);
  return 0;
}
