// SPDX-License-Identifier: Apache-2.0
// A pointer handed over without synchronisation: the pointer races, and so does
// what it points to.
// tsan: names the allocation instead of the first write
#include "turns.h"

int* published;

static void first(void) {
  int* block = malloc(sizeof *block);
  *block = 42;        // race: contents
  published = block;  // race: pointer
}

static void second(void) {
  int* block = published;  // race: pointer
  use(*block);             // race: contents
}

int main(void) {
  in_turn(first, second);
  free(published);
  return 0;
}
