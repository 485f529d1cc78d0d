// SPDX-License-Identifier: Apache-2.0
// A word written whole after one byte of it.
#include "turns.h"

union {
  long whole;
  char bytes[8];
} word;

static void first(void) { word.bytes[7] = 1; }  // race
static void second(void) { word.whole = 1; }    // race

int main(void) {
  in_turn(first, second);
  return 0;
}
