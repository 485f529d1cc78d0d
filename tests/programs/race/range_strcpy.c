// SPDX-License-Identifier: Apache-2.0
// strcpy writes the terminating zero too.
#include "turns.h"

#include <string.h>

char text[64];

static void first(void) { text[5] = 'x'; }                                     // race
static void second(void) { strcpy(opaque_text(text), opaque_text("12345")); }  // race

int main(void) {
  in_turn(first, second);
  return 0;
}
