// SPDX-License-Identifier: Apache-2.0
// A compare-exchange that fails stores nothing, so it does not release.
#include "turns.h"

int data;
int flag;

static void first(void) {
  int expected = 7;
  data = 1;  // race
  use(__atomic_compare_exchange_n(&flag, &expected, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
}

static void second(void) {
  use(__atomic_load_n(&flag, __ATOMIC_ACQUIRE));
  use(data);  // race
}

int main(void) {
  in_turn(first, second);
  return 0;
}
