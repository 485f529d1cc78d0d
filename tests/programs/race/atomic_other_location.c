// SPDX-License-Identifier: Apache-2.0
// Release and acquire of two different flags.
#include "turns.h"

int data;
int flags[2];

static void first(void) {
  data = 1;  // race
  __atomic_store_n(&flags[0], 1, __ATOMIC_SEQ_CST);
}

static void second(void) {
  use(__atomic_load_n(&flags[1], __ATOMIC_SEQ_CST));
  use(data);  // race
}

int main(void) {
  in_turn(first, second);
  return 0;
}
