// SPDX-License-Identifier: Apache-2.0
// Ranges that touch inside a word but share no byte.
#include "turns.h"

#include <string.h>

char block[301];

static void first(void) { memset(block, 1, opaque(101)); }
static void second(void) { memset(block + 101, 2, opaque(102)); }
static void third(void) { memset(block + 203, 3, opaque(98)); }

int main(void) {
  in_turn_3(first, second, third);
  return 0;
}
