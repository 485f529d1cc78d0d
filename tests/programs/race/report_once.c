// SPDX-License-Identifier: Apache-2.0
// A thousand occurrences of one race are one finding.
// findings: 1
#include "turns.h"

int numbers[1000];

static void first(void) {
  for (int i = 0; i < 1000; i++) numbers[opaque(i)] = 1;  // race
}

static void second(void) {
  for (int i = 0; i < 1000; i++) numbers[opaque(i)] = 2;  // race
}

int main(void) {
  in_turn(first, second);
  return 0;
}
