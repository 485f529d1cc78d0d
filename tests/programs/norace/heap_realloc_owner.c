// SPDX-License-Identifier: Apache-2.0
// A block that grows and shrinks in the hands of its owner.
#include "turns.h"

#include <string.h>

static void body(int index) {
  char* text = malloc(1);
  for (size_t size = 1; size < 50000; size += size / 3 + 1) {
    text = realloc(text, size);
    memset(text, index, size);
  }
  text = realloc(text, 10);
  use(text[opaque(9)]);
  free(text);
}

int main(void) {
  at_once(6, body);
  return 0;
}
