// SPDX-License-Identifier: Apache-2.0
// memmove reads and writes.
#include "turns.h"

#include <string.h>

char text[200];

static void first(void) {
  text[5] = 1;    // race: source
  text[105] = 1;  // race: target
}

static void second(void) {
  memmove(text + 100, text, opaque(50));  // race: source target
}

int main(void) {
  in_turn(first, second);
  return 0;
}
