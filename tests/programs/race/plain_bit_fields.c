// SPDX-License-Identifier: Apache-2.0
// Neighbouring bit-fields are one memory location.
#include "turns.h"

struct {
  unsigned low : 4;
  unsigned high : 4;
} flags;

static void first(void) { flags.low = 1; }    // race
static void second(void) { flags.high = 1; }  // race

int main(void) {
  in_turn(first, second);
  return 0;
}
