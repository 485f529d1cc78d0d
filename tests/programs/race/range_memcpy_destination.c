// SPDX-License-Identifier: Apache-2.0
// memcpy into what another thread reads, one byte in the middle.
#include "turns.h"

#include <string.h>

char source[100];
char target[100];

static void first(void) { use(target[57]); }                                 // race
static void second(void) { memcpy(target, source, opaque(sizeof target)); }  // race

int main(void) {
  in_turn(first, second);
  return 0;
}
