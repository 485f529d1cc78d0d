// SPDX-License-Identifier: Apache-2.0
// One thread uses a block, another gives it back, with nothing between.
#include "turns.h"

char* block;

static void first(void) { block[3] = 1; }  // race
static void second(void) { free(block); }  // race

int main(void) {
  block = malloc(64);
  in_turn(first, second);
  return 0;
}
