// SPDX-License-Identifier: Apache-2.0
// fread fills the buffer.
// stdin: 0123456789
#include "turns.h"

#include <stdio.h>

char buffer[64];

static void first(void) { use(buffer[7]); }                                // race
static void second(void) { use((long long)fread(buffer, 1, 10, stdin)); }  // race

int main(void) {
  in_turn(first, second);
  return 0;
}
