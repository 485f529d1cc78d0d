// SPDX-License-Identifier: Apache-2.0
// Fences that are both, around relaxed read-modify-writes, through a third
// thread.
// tsan: false alarm (fences are ignored)
#include "turns.h"

int data;
int flag;

static void step(void) {
  use(__atomic_fetch_add(&flag, 1, __ATOMIC_RELAXED));
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  data++;
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  use(__atomic_fetch_add(&flag, 1, __ATOMIC_RELAXED));
}

int main(void) {
  in_turn_3(step, step, step);
  return data == 3 ? 0 : 1;
}
