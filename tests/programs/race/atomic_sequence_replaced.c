// SPDX-License-Identifier: Apache-2.0
// A release store by another thread begins a sequence of its own: the reader is
// ordered after the second thread, not after the first.
#include "turns.h"

int first_data;
int second_data;
int flag;

static void first(void) {
  first_data = 1;  // race
  __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
}

static void second(void) {
  second_data = 2;
  __atomic_store_n(&flag, 2, __ATOMIC_RELEASE);
}

static void third(void) {
  use(__atomic_load_n(&flag, __ATOMIC_ACQUIRE));
  use(second_data);
  use(first_data);  // race
}

int main(void) {
  in_turn_3(first, second, third);
  return 0;
}
