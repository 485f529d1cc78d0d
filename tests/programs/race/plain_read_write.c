// SPDX-License-Identifier: Apache-2.0
// A read, then a write in another thread.
#include "turns.h"

int shared;

static void first(void) { use(shared); }  // race
static void second(void) { shared = 1; }  // race

int main(void) {
  in_turn(first, second);
  return 0;
}
