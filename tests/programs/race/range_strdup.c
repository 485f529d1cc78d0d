// SPDX-License-Identifier: Apache-2.0
// strdup reads its argument.
// tsan: misses it (strdup is not checked)
#include "turns.h"

#include <string.h>

char text[64] = "12345";

static void first(void) { text[2] = 'x'; }  // race

static void second(void) {
  char* copy = strdup(opaque_text(text));  // race
  use((long long)copy);
  free(copy);
}

int main(void) {
  in_turn(first, second);
  return 0;
}
