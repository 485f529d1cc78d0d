// SPDX-License-Identifier: Apache-2.0
// memchr reads up to what it finds.
#include "turns.h"

#include <string.h>

char text[64] = "................................x";

static void first(void) { text[20] = ','; }                                               // race
static void second(void) { use((long long)memchr(opaque_text(text), 'x', opaque(64))); }  // race

int main(void) {
  in_turn(first, second);
  return 0;
}
