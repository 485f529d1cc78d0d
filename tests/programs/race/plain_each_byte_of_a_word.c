// SPDX-License-Identifier: Apache-2.0
// Eight bytes of one word, each with a history of its own: the word's last
// accesses are of the same thread, and only byte 3 collides.
// tsan: misses it (four cells per word)
#include "turns.h"

char bytes[8] __attribute__((aligned(8)));

static void first(void) {
  bytes[3] = 1;  // race
}

static void second(void) {
  bytes[0] = 2;
  bytes[1] = 2;
  bytes[2] = 2;
  bytes[4] = 2;
  bytes[5] = 2;
  bytes[6] = 2;
  bytes[7] = 2;
  use(bytes[3]);  // race
}

int main(void) {
  in_turn(first, second);
  return 0;
}
