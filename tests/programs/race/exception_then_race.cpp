// SPDX-License-Identifier: Apache-2.0
// After thousands of exceptions through many frames the stack of an access is
// right.
#include "turns.h"

int shared;

__attribute__((noinline)) static void dive(int depth) {
  if (depth == 0) throw depth;
  dive(depth - 1);
  use(depth);
}

static void throw_around() {
  for (int i = 0; i < 500; i++) {
    try {
      dive(30);
    } catch (int) {
    }
  }
}

static void first() {
  throw_around();
  shared = 1;  // race
}

static void second() {
  throw_around();
  shared = 2;  // race
}

int main() { in_turn(first, second); }
