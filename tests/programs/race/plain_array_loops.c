// SPDX-License-Identifier: Apache-2.0
// Two loops over arrays that overlap in one element.
// findings: 1
#include "turns.h"

int numbers[100];

static void first(void) {
  for (int i = 0; i <= 50; i++) numbers[i] = i;  // race
}

static void second(void) {
  for (int i = 50; i < 100; i++) numbers[i] = i;  // race
}

int main(void) {
  in_turn(first, second);
  return 0;
}
