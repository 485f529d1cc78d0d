// SPDX-License-Identifier: Apache-2.0
// One release fence serves all relaxed stores after it, one acquire fence all
// relaxed loads before it.
// tsan: false alarm (fences are ignored)
#include "turns.h"

int data[2];
int flags[8];

static void first(void) {
  data[0] = 1;
  __atomic_thread_fence(__ATOMIC_RELEASE);
  for (int i = 0; i < 8; i++) __atomic_store_n(&flags[i], 1, __ATOMIC_RELAXED);
}

static void second(void) {
  use(__atomic_load_n(&flags[2], __ATOMIC_RELAXED));
  use(__atomic_load_n(&flags[7], __ATOMIC_RELAXED));
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  use(data[0]);
  data[1] = 1;
}

int main(void) {
  in_turn(first, second);
  return 0;
}
