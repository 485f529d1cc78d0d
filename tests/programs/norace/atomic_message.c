// SPDX-License-Identifier: Apache-2.0
// Release and acquire, for every size.
#include "turns.h"

int data[4];
unsigned char one;
unsigned short two;
unsigned four;
unsigned long eight;

static void first(void) {
  data[0] = 1;
  __atomic_store_n(&one, 1, __ATOMIC_RELEASE);
  data[1] = 1;
  __atomic_store_n(&two, 1, __ATOMIC_RELEASE);
  data[2] = 1;
  __atomic_store_n(&four, 1, __ATOMIC_RELEASE);
  data[3] = 1;
  __atomic_store_n(&eight, 1, __ATOMIC_RELEASE);
}

static void second(void) {
  use(__atomic_load_n(&one, __ATOMIC_ACQUIRE));
  data[0]++;
  use(__atomic_load_n(&two, __ATOMIC_ACQUIRE));
  data[1]++;
  use(__atomic_load_n(&four, __ATOMIC_ACQUIRE));
  data[2]++;
  use(__atomic_load_n(&eight, __ATOMIC_ACQUIRE));
  data[3]++;
}

int main(void) {
  in_turn(first, second);
  return 0;
}
