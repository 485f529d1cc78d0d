// SPDX-License-Identifier: Apache-2.0
// Loops that are not entered touch nothing, also inside of others.
#include "turns.h"

enum { kCount = 40 };
long numbers[kCount];
long grid[kCount][kCount];

static void first(void) {
  long none = opaque(0);
  long at;
  long inner;
  for (at = 0; at < none; at++) numbers[at] = 1;
  for (at = 0; at < kCount; at++) {
    for (inner = 0; inner < none; inner++) grid[at][inner] = 1;
  }
  for (at = kCount; at < none; at++) {
    for (inner = 0; inner < kCount; inner++) grid[at][inner] = 1;
  }
}

static void second(void) {
  long at;
  for (at = 0; at < opaque(kCount); at++) {
    numbers[at] += 2;
    grid[at][0] += 2;
  }
}

int main(void) {
  in_turn(first, second);
  return numbers[0] != 2 || grid[kCount - 1][0] != 2;
}
