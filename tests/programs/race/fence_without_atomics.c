// SPDX-License-Identifier: Apache-2.0
// Fences around ordinary accesses order nothing.
#include "turns.h"

int data;

static void first(void) {
  data = 1;  // race
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static void second(void) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  use(data);  // race
}

int main(void) {
  in_turn(first, second);
  return 0;
}
