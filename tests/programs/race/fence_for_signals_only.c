// SPDX-License-Identifier: Apache-2.0
// A signal fence orders nothing between threads.
#include "turns.h"

int data;
int flag;

static void first(void) {
  data = 1;  // race
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  __atomic_store_n(&flag, 1, __ATOMIC_RELAXED);
}

static void second(void) {
  use(__atomic_load_n(&flag, __ATOMIC_RELAXED));
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  use(data);  // race
}

int main(void) {
  in_turn(first, second);
  return 0;
}
