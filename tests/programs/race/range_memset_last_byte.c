// SPDX-License-Identifier: Apache-2.0
// Only the last byte of a long range collides.
#include "turns.h"

#include <string.h>

char block[100001];

static void first(void) { memset(block, 1, opaque(sizeof block)); }  // race
static void second(void) { block[100000] = 2; }                      // race

int main(void) {
  in_turn(first, second);
  return 0;
}
