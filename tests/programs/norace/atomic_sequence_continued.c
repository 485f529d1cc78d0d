// SPDX-License-Identifier: Apache-2.0
// Read-modify-writes continue a release sequence, even relaxed ones of others.
#include "turns.h"

int data;
int flag;

static void first(void) {
  data = 1;
  __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
}

static void second(void) {
  int expected = 2;
  use(__atomic_fetch_add(&flag, 1, __ATOMIC_RELAXED));
  use(__atomic_compare_exchange_n(&flag, &expected, 3, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

static void third(void) {
  use(__atomic_load_n(&flag, __ATOMIC_ACQUIRE));
  use(data);
}

int main(void) {
  in_turn_3(first, second, third);
  return 0;
}
