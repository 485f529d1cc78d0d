// SPDX-License-Identifier: Apache-2.0
// The use lies 700 KB inside of a large block.
// tsan: misses it (checks the first KB)
#include "turns.h"

char* block;

static void first(void) { block[700 * 1024] = 1; }  // race
static void second(void) { free(block); }           // race

int main(void) {
  block = malloc(1 << 20);
  in_turn(first, second);
  return 0;
}
