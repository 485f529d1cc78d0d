// SPDX-License-Identifier: Apache-2.0
// The racing access lies in a function that is called from many places; the
// report names the line of the access, not of a caller.
#include "turns.h"

int shared;

__attribute__((noinline)) static void change(int value) {
  shared = value;  // race
}

__attribute__((noinline)) static void deeper(int depth, int value) {
  if (depth == 0) {
    change(value);
  } else {
    deeper(depth - 1, value);
  }
  use(depth);
}

static void first(void) { deeper(20, 1); }
static void second(void) { deeper(30, 2); }

int main(void) {
  in_turn(first, second);
  return 0;
}
