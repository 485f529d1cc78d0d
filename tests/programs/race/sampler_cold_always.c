// SPDX-License-Identifier: Apache-2.0
// The cold-code sampler always looks at atomics and at free, also in functions that are
// hot.
// options: sampler=cold
// record: no (a sampler has no trace)
#include "turns.h"

int flag;
int* block;

__attribute__((noinline)) static void count(int* where) { __atomic_fetch_add(where, 1, __ATOMIC_RELAXED); }  // race: flag

__attribute__((noinline)) static void give_up(int* where) {
  free(where);  // race: block
}

static void first(void) {
  flag = 1;    // race: flag
  *block = 1;  // race: block
}

static void second(void) {
  int own = 0;
  int i;
  for (i = 0; i < 5000; i++) {
    count(&own);
    give_up((int*)malloc(sizeof(int)));
  }
  count(&flag);
  give_up(block);
}

int main(void) {
  block = (int*)malloc(sizeof(int));
  in_turn(first, second);
  return 0;
}
