// SPDX-License-Identifier: Apache-2.0
// memcmp reads both sides.
#include "turns.h"

#include <string.h>

char left[64];
char right[64];

static void first(void) {
  left[0] = 0;    // race: left
  right[40] = 0;  // race: right
}

static void second(void) {
  use(memcmp(opaque_text(left), opaque_text(right), opaque(64)));  // race: left right
}

int main(void) {
  in_turn(first, second);
  return 0;
}
