// SPDX-License-Identifier: Apache-2.0
// A later relaxed store of the releasing thread continues its sequence (before
// C++20; strict_atomics asks for the newer rule).
#include "turns.h"

int data;
int flag;

static void first(void) {
  data = 1;
  __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
  __atomic_store_n(&flag, 2, __ATOMIC_RELAXED);
}

static void second(void) {
  use(__atomic_load_n(&flag, __ATOMIC_ACQUIRE));
  use(data);
}

int main(void) {
  in_turn(first, second);
  return 0;
}
