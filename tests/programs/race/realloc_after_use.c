// SPDX-License-Identifier: Apache-2.0
// realloc gives the old block back when it moves.
#include "turns.h"

char* block;

static void first(void) { block[100] = 1; }                           // race
static void second(void) { block = realloc(block, opaque(100000)); }  // race

int main(void) {
  block = malloc(200);
  in_turn(first, second);
  free(block);
  return 0;
}
