// SPDX-License-Identifier: Apache-2.0
// A structure of three bytes.
// compilers: g++ (clang 19 leaves out sizes without a hook of their own)
#include "turns.h"

struct Three {
  char bytes[3];
};
struct Three shared;
struct Three source;

static void first(void) { shared = source; }         // race
static void second(void) { shared.bytes[2] = 'x'; }  // race

int main(void) {
  in_turn(first, second);
  return 0;
}
