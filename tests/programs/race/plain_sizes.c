// SPDX-License-Identifier: Apache-2.0
// Every size that has a hook of its own.
// tsan: clang reports one race per word
#include "turns.h"

char one;
short two;
int four;
long eight;
__int128 sixteen;

static void first(void) {
  one = 1;      // race: A
  two = 1;      // race: B
  four = 1;     // race: C
  eight = 1;    // race: D
  sixteen = 1;  // race: E
}

static void second(void) {
  one = 2;      // race: A
  two = 2;      // race: B
  four = 2;     // race: C
  eight = 2;    // race: D
  sixteen = 2;  // race: E
}

int main(void) {
  in_turn(first, second);
  return 0;
}
