// SPDX-License-Identifier: Apache-2.0
// A field of width zero starts a new memory location.
#include "turns.h"

struct {
  unsigned low : 8;
  unsigned : 0;
  unsigned high : 8;
} flags;

static void first(void) { flags.low = 1; }
static void second(void) { flags.high = 1; }

int main(void) {
  in_turn(first, second);
  return 0;
}
