// SPDX-License-Identifier: Apache-2.0
// A compare-exchange that fails is an acquiring load when its failure says so.
#include "turns.h"

int data;
int flag;

static void first(void) {
  data = 1;
  __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
}

static void second(void) {
  int expected = 7;
  use(__atomic_compare_exchange_n(&flag, &expected, 2, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
  use(data);
}

static void third(void) {
  int expected = 7;
  use(__atomic_compare_exchange_n(&flag, &expected, 2, 1, __ATOMIC_RELAXED, __ATOMIC_ACQUIRE));
  use(data);
}

int main(void) {
  in_turn_3(first, second, third);
  return 0;
}
