// SPDX-License-Identifier: Apache-2.0
// The program suppresses one of its races, in a text with lines that say nothing. Those
// are left out, the others count, and no other race is lost.
// findings: 1
// record: no (suppressions are not part of a trace)
// tsan: dies at the start (cannot read the text)
#include "turns.h"

long known_counter;
long other_counter;

const char* __tsan_default_suppressions(void) { return "no kind\nnonsense:x\n\n  race:^known_counter$  "; }

static void count_first(void) {
  known_counter = 1;
  other_counter = 1;  // race
}
static void count_second(void) {
  known_counter = 2;
  other_counter = 2;  // race
}

int main(void) {
  in_turn(count_first, count_second);
  return 0;
}
