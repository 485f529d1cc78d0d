// SPDX-License-Identifier: Apache-2.0
// Floating point goes through the same hooks.
#include "turns.h"

float small;
double large;

static void first(void) {
  small = 1.0f;  // race: A
  large = 1.0;   // race: B
}

static void second(void) {
  small = 2.0f;  // race: A
  large = 2.0;   // race: B
}

int main(void) {
  in_turn(first, second);
  return 0;
}
