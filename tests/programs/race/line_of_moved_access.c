// SPDX-License-Identifier: Apache-2.0
// The optimiser takes loads out of loops and makes one of two. The report has a line of the
// source all the same.
// levels: -O0 -O1 -O2 -O3
#include "turns.h"

int in_loop;
int on_both_ways;
char stored;

static void first(void) {
  in_loop = 1;       // race: loop
  on_both_ways = 2;  // race: both
  stored = 3;        // race: stored
}

static void second(void) {
  long sum = 0;
  long at;
  const long turns = (long)opaque(3);
  for (at = 0; at < turns; at++) sum += in_loop + at;  // race: loop
  sum += opaque(1) != 0 ? on_both_ways + 3 : on_both_ways * 5;  // race: both
  use(sum);
  for (at = 0; at < turns; at++) stored = (char)(stored + 1);  // race: stored
}

int main(void) {
  in_turn(first, second);
  return 0;
}
