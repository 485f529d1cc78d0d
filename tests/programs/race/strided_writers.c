// SPDX-License-Identifier: Apache-2.0
// Two threads write every second of a million ints; one element belongs to both.
// tsan: misses it (the older stack is gone)
#include "turns.h"

#define COUNT 1000000
int numbers[COUNT];
size_t collision = 10;

static void even(void) {
  for (size_t i = 0; i < COUNT; i += 2) numbers[opaque(i)] = 1;  // race
}

static void odd(void) {
  for (size_t i = 1; i < COUNT; i += 2) {
    size_t at = i == collision + 1 ? collision : i;
    numbers[opaque(at)] = 2;  // race
  }
}

int main(void) {
  in_turn(even, odd);
  return 0;
}
