// SPDX-License-Identifier: Apache-2.0
// The program ends at the first race, before the second.
// options: halt_on_error=1
// findings: 1
#include "turns.h"

int shared;
int other;

static void first(void) {
  other = 1;
  shared = 1;  // race
}

static void second(void) {
  shared = 2;  // race
  other = 2;
}

int main(void) {
  in_turn(first, second);
  return 0;
}
