// SPDX-License-Identifier: Apache-2.0
// volatile does not make an access atomic.
#include "turns.h"

volatile int shared;

static void first(void) { shared = 1; }   // race
static void second(void) { shared = 2; }  // race

int main(void) {
  in_turn(first, second);
  return 0;
}
