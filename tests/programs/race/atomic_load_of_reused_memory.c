// SPDX-License-Identifier: Apache-2.0
// The same load of the same address twice in one epoch, but the second time it is
// another block: the first load does not stand for it.
#include "turns.h"

int* place;

__attribute__((noinline)) static int load(const int* at) {
  return __atomic_load_n(at, __ATOMIC_ACQUIRE);  // race
}

static void load_twice(void) {
  void* volatile again;
  int round;
  for (round = 0; round < 3; round++) {
    load(place);
    if (round != 1) continue;
    free(place);
    again = malloc(64);
    if (again != place) abort();
  }
}

static void write_plainly(void) {
  *place = 1;  // race
}

int main(void) {
  place = (int*)malloc(64);
  __atomic_store_n(place, 0, __ATOMIC_RELEASE);
  in_turn(load_twice, write_plainly);
  return 0;
}
