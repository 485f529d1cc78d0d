// SPDX-License-Identifier: Apache-2.0
// A relaxed store by another thread ends the release sequence: whoever reads its
// value acquires nothing.
// tsan: misses it (a relaxed store keeps the clock)
#include "turns.h"

int data;
int flag;

static void first(void) {
  data = 1;  // race
  __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
}

static void second(void) { __atomic_store_n(&flag, 2, __ATOMIC_RELAXED); }

static void third(void) {
  use(__atomic_load_n(&flag, __ATOMIC_ACQUIRE));
  use(data);  // race
}

int main(void) {
  in_turn_3(first, second, third);
  return 0;
}
