// SPDX-License-Identifier: Apache-2.0
// The program's own failure does not hide the races.
// exit: 3
#include "turns.h"

int shared;

static void first(void) { shared = 1; }   // race
static void second(void) { shared = 2; }  // race

int main(void) {
  in_turn(first, second);
  return 3;
}
