// SPDX-License-Identifier: Apache-2.0
// A variable on a stack, known to another thread.
#include "turns.h"

int* shared;

static void first(void) { *shared = 1; }   // race
static void second(void) { *shared = 2; }  // race

int main(void) {
  int local = 0;
  shared = &local;
  in_turn(first, second);
  return local == 2 ? 0 : 1;
}
