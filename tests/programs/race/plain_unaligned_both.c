// SPDX-License-Identifier: Apache-2.0
// Two unaligned accesses that share bytes of the second word only.
#include "turns.h"

struct __attribute__((packed)) Low {
  char before[5];
  long number;
};
struct __attribute__((packed)) High {
  char before[11];
  int number;
};

union {
  struct Low low;
  struct High high;
} shared __attribute__((aligned(8)));

static void first(void) { shared.low.number = 1; }     // race
static void second(void) { use(shared.high.number); }  // race

int main(void) {
  in_turn(first, second);
  return 0;
}
