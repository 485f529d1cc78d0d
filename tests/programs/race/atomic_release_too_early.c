// SPDX-License-Identifier: Apache-2.0
// What is written after the release is not published.
#include "turns.h"

int data;
int flag;

static void first(void) {
  __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
  data = 1;  // race
}

static void second(void) {
  use(__atomic_load_n(&flag, __ATOMIC_ACQUIRE));
  use(data);  // race
}

int main(void) {
  in_turn(first, second);
  return 0;
}
