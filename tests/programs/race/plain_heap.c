// SPDX-License-Identifier: Apache-2.0
// A block of the heap.
#include "turns.h"

int* shared;

static void first(void) { shared[10] = 1; }   // race
static void second(void) { shared[10] = 2; }  // race

int main(void) {
  shared = malloc(100 * sizeof *shared);
  in_turn(first, second);
  free(shared);
  return 0;
}
