// SPDX-License-Identifier: Apache-2.0
// Two ranges that overlap in three bytes.
// findings: 1
// tsan: g++ misses it (four cells per word)
#include "turns.h"

#include <string.h>

char block[1000];

static void first(void) { memset(block, 1, opaque(503)); }         // race
static void second(void) { memset(block + 500, 2, opaque(500)); }  // race

int main(void) {
  in_turn(first, second);
  return 0;
}
