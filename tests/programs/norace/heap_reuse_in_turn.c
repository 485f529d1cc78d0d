// SPDX-License-Identifier: Apache-2.0
// The same block, most likely, in one thread after the other.
#include "turns.h"

static void step(void) {
  for (size_t size = 8; size < 300000; size *= 3) {
    char* block = calloc(1, size);
    for (size_t i = 0; i < size; i += 97) block[i] = 1;
    free(block);
  }
}

int main(void) {
  in_turn_3(step, step, step);
  return 0;
}
