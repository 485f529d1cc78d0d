// SPDX-License-Identifier: Apache-2.0
// The fence stands on the wrong side of the store that it should strengthen.
#include "turns.h"

int data;
int flag;

static void first(void) {
  data = 1;  // race
  __atomic_store_n(&flag, 1, __ATOMIC_RELAXED);
  __atomic_thread_fence(__ATOMIC_RELEASE);
}

static void second(void) {
  use(__atomic_load_n(&flag, __ATOMIC_RELAXED));
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  use(data);  // race
}

int main(void) {
  in_turn(first, second);
  return 0;
}
