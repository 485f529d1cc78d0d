// SPDX-License-Identifier: Apache-2.0
// Half of a word may be raced on. The other half may not.
#include <deadheat/annotate.h>

#include "turns.h"

int pair[2] __attribute__((aligned(8)));

static void first(void) {
  *(volatile long*)pair = 1;  // race
}

static void second(void) {
  *(volatile long*)pair = 2;  // race
}

int main(void) {
  deadheat_benign(&pair[0], sizeof(pair[0]));
  in_turn(first, second);
  return 0;
}
