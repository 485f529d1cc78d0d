// SPDX-License-Identifier: Apache-2.0
// The last element that a loop touches, in the middle of a word.
#include "turns.h"

enum { kCount = 101 };
int numbers[kCount + 3];

static void first(void) {
  long count = opaque(kCount);
  long at;
  for (at = 0; at < count; at++) numbers[at] = 1;  // race
}

static void second(void) { numbers[kCount - 1] = 2; }  // race

int main(void) {
  in_turn(first, second);
  return 0;
}
