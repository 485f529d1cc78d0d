// SPDX-License-Identifier: Apache-2.0
// A write, then a read in another thread.
#include "turns.h"

int shared;

static void first(void) { shared = 1; }    // race
static void second(void) { use(shared); }  // race

int main(void) {
  in_turn(first, second);
  return 0;
}
