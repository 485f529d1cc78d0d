// SPDX-License-Identifier: Apache-2.0
// The use comes after the block was given back.
#include "turns.h"

char* block;

static void first(void) { free(block); }                  // race
static void second(void) { use(*(block + opaque(40))); }  // race

int main(void) {
  block = malloc(64);
  in_turn(first, second);
  return 0;
}
