// SPDX-License-Identifier: Apache-2.0
// strlen reads the terminating zero too.
#include "turns.h"

#include <string.h>

char text[64] = "12345";

static void first(void) { text[5] = 0; }                                 // race
static void second(void) { use((long long)strlen(opaque_text(text))); }  // race

int main(void) {
  in_turn(first, second);
  return 0;
}
