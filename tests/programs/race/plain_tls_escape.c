// SPDX-License-Identifier: Apache-2.0
// A thread-local variable whose address another thread knows.
#include "turns.h"

__thread int own;
int* shared;

static void first(void) {
  __asm__ volatile("" : : "r"(&own) : "memory");
  __atomic_store_n(&shared, &own, __ATOMIC_RELEASE);
  own = 1;  // race
}

static void second(void) {
  int* theirs = __atomic_load_n(&shared, __ATOMIC_ACQUIRE);
  *theirs = 2;  // race
}

int main(void) {
  in_turn(first, second);
  return 0;
}
