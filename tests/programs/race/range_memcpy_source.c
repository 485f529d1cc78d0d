// SPDX-License-Identifier: Apache-2.0
// memcpy out of what another thread has written.
#include "turns.h"

#include <string.h>

char source[100];
char target[100];

static void first(void) { source[99] = 1; }                                  // race
static void second(void) { memcpy(target, source, opaque(sizeof target)); }  // race

int main(void) {
  in_turn(first, second);
  return 0;
}
