// SPDX-License-Identifier: Apache-2.0
// A block partition of 256K elements that is off by one.
// tsan: may miss it (the older stack is gone)
#include "turns.h"

#define COUNT (256 * 1024)
int numbers[COUNT];

static void low(void) {
  for (size_t i = 0; i <= COUNT / 2; i++) numbers[opaque(i)] = 1;  // race
}

static void high(void) {
  for (size_t i = COUNT / 2; i < COUNT; i++) numbers[opaque(i)] = 2;  // race
}

int main(void) {
  in_turn(low, high);
  return 0;
}
