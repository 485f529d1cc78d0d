// SPDX-License-Identifier: Apache-2.0
// A number that lies across two words, and the byte at its end.
#include "turns.h"

struct __attribute__((packed)) Packed {
  char before[6];
  int across;
  char after[6];
};

struct Packed packed __attribute__((aligned(8)));

static void first(void) { packed.across = 1; }         // race
static void second(void) { ((char*)&packed)[9] = 1; }  // race

int main(void) {
  in_turn(first, second);
  return 0;
}
