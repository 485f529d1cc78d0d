// SPDX-License-Identifier: Apache-2.0
// After thousands of jumps out of deep calls the stack of an access is right.
#include "turns.h"

#include <setjmp.h>

int shared;
static __thread jmp_buf target;

__attribute__((noinline)) static void dive(int depth) {
  if (depth == 0) longjmp(target, 1);
  dive(depth - 1);
  use(depth);
}

static void jump_around(void) {
  for (volatile int i = 0; i < 2000; i++) {
    if (setjmp(target) == 0) dive(40);
  }
}

static void first(void) {
  jump_around();
  shared = 1;  // race
}

static void second(void) {
  jump_around();
  shared = 2;  // race
}

int main(void) {
  in_turn(first, second);
  return 0;
}
