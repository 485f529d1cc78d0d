// SPDX-License-Identifier: Apache-2.0
// A large global variable, one half each, and one element of the other's half.
#include "turns.h"

enum { kElements = 1 << 17 };

int numbers[kElements];

static void write_lower(void) {
  int index;
  for (index = 0; index < kElements / 2; index++) {
    numbers[index] = index;  // race
  }
}

static void write_upper(void) {
  int index;
  for (index = kElements / 2; index < kElements; index++) numbers[index] = index;
  numbers[4711] = 0;  // race
}

int main(void) {
  in_turn(write_lower, write_upper);
  return 0;
}
