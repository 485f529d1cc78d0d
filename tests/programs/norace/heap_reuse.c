// SPDX-License-Identifier: Apache-2.0
// Memory that one thread gave back and another got is new memory.
#include "turns.h"

static void body(int index) {
  for (int i = 0; i < 2000; i++) {
    size_t size = 16 + (size_t)(i % 40) * 24;
    char* block = malloc(size);
    block[0] = (char)index;
    block[size - 1] = (char)i;
    block = realloc(block, size * 2);
    block[size] = 1;
    free(block);
  }
}

int main(void) {
  at_once(8, body);
  return 0;
}
