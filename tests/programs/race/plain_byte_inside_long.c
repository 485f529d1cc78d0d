// SPDX-License-Identifier: Apache-2.0
// One byte of a word that another thread writes whole.
#include "turns.h"

union {
  long whole;
  char bytes[8];
} word;

static void first(void) { word.whole = 1; }       // race
static void second(void) { use(word.bytes[5]); }  // race

int main(void) {
  in_turn(first, second);
  return 0;
}
