// SPDX-License-Identifier: Apache-2.0
// Race detection together with -fxray-instrument, whose runtime has some functions of the same names.
// flags: -fxray-instrument -fxray-instruction-threshold=1
// libraries: -fxray-instrument
// compilers: clang (has it)
#include "turns.h"

int shared;
int shift_by;

static void first() { shared = 1 << shift_by; }  // race

static void second() { shared = 2 << shift_by; }  // race

int main() {
  shift_by = static_cast<int>(opaque(3));
  in_turn(first, second);
  return 0;
}
