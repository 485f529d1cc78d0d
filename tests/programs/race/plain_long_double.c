// SPDX-License-Identifier: Apache-2.0
// Ten bytes that take sixteen.
// compilers: g++ (clang 19 leaves out sizes without a hook of their own)
#include "turns.h"

long double shared;

static void first(void) { shared = 1.0L; }   // race
static void second(void) { shared = 2.0L; }  // race

int main(void) {
  in_turn(first, second);
  return 0;
}
