// SPDX-License-Identifier: Apache-2.0
// The acquiring load comes first and sees the old value.
#include "turns.h"

int data;
int flag;

static void first(void) {
  use(__atomic_load_n(&flag, __ATOMIC_ACQUIRE));
  data = 1;  // race
}

static void second(void) {
  __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
  data = 2;  // race
}

int main(void) {
  in_turn(first, second);
  return 0;
}
