// SPDX-License-Identifier: Apache-2.0
// strncpy fills the rest with zeros.
#include "turns.h"

#include <string.h>

char text[64];

static void first(void) { text[39] = 'x'; }                                                 // race
static void second(void) { strncpy(opaque_text(text), opaque_text("12345"), opaque(40)); }  // race

int main(void) {
  in_turn(first, second);
  return 0;
}
