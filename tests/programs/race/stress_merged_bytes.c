// SPDX-License-Identifier: Apache-2.0
// Bytes of one word that a thread wrote in different lines and one epoch: each
// races with the reader of the whole word, and with the lines it was written by.
#include "turns.h"

char bytes[8] __attribute__((aligned(8)));

static void first(void) {
  bytes[1] = 1;  // race: A
  bytes[4] = 2;  // race: B
  bytes[5] = 3;  // race: C
}

static void second(void) {
  use(*(volatile long*)bytes);  // race: A B C
}

int main(void) {
  in_turn(first, second);
  return 0;
}
