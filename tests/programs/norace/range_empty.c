// SPDX-License-Identifier: Apache-2.0
// Nothing is touched when the length is zero.
#include "turns.h"

#include <string.h>

char left[16];
char right[16];

static void first(void) { memset(left, 1, 16); }

static void second(void) {
  memset(left, 2, opaque(0));
  memcpy(left, right, opaque(0));
  memmove(right, left, opaque(0));
  use(memcmp(left, right, opaque(0)));
}

int main(void) {
  in_turn(first, second);
  return 0;
}
