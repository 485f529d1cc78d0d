// SPDX-License-Identifier: Apache-2.0
// The last byte of a block with an odd size.
#include "turns.h"

char* block;

static void first(void) { use(block[76]); }  // race
static void second(void) { free(block); }    // race

int main(void) {
  block = malloc(77);
  in_turn(first, second);
  return 0;
}
