// SPDX-License-Identifier: Apache-2.0
// strcat reads to the end of the first text and writes there.
// tsan: misses it (strcat is not intercepted)
#include "turns.h"

#include <string.h>

char text[64] = "123";

static void first(void) { use(text[5]); }                                    // race
static void second(void) { strcat(opaque_text(text), opaque_text("456")); }  // race

int main(void) {
  in_turn(first, second);
  return 0;
}
