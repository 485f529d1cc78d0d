// SPDX-License-Identifier: Apache-2.0
// A structure assigned whole against one of its fields.
#include "turns.h"

struct Big {
  long numbers[64];
};
struct Big shared;
struct Big source;

static void first(void) { shared.numbers[63] = 1; }  // race
static void second(void) { shared = source; }        // race

int main(void) {
  in_turn(first, second);
  return 0;
}
