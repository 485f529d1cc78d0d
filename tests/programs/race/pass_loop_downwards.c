// SPDX-License-Identifier: Apache-2.0
// A loop from the end to the beginning: the last step is the lowest address.
#include "turns.h"

enum { kCount = 64 };
short numbers[kCount];
long sum;

static void first(void) {
  long at;
  for (at = opaque(kCount) - 1; at >= 0; at -= 3) sum += numbers[at];  // race
}

static void second(void) { numbers[0] = 2; }  // race

int main(void) {
  in_turn(first, second);
  return 0;
}
