// SPDX-License-Identifier: Apache-2.0
// A compare-exchange whose failure is relaxed does not acquire when it fails.
#include "turns.h"

int data;
int flag;

static void first(void) {
  data = 1;  // race
  __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
}

static void second(void) {
  int expected = 7;
  use(__atomic_compare_exchange_n(&flag, &expected, 2, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
  use(data);  // race
}

int main(void) {
  in_turn(first, second);
  return 0;
}
