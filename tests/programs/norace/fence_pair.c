// SPDX-License-Identifier: Apache-2.0
// Release fence, relaxed store; relaxed load, acquire fence.
// tsan: false alarm (fences are ignored)
#include "turns.h"

int data;
int flag;

static void first(void) {
  data = 1;
  __atomic_thread_fence(__ATOMIC_RELEASE);
  __atomic_store_n(&flag, 1, __ATOMIC_RELAXED);
}

static void second(void) {
  use(__atomic_load_n(&flag, __ATOMIC_RELAXED));
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  use(data);
}

int main(void) {
  in_turn(first, second);
  return 0;
}
