// SPDX-License-Identifier: Apache-2.0
// The same line in two threads.
#include "turns.h"

int counter;

static void step(void) {
  counter++;  // race
}

int main(void) {
  in_turn(step, step);
  return 0;
}
