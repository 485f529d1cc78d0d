// SPDX-License-Identifier: Apache-2.0
// The program itself says which of its races nobody wants to hear of.
// record: no (suppressions are not part of a trace)
#include "turns.h"

long known_counter;

const char* __tsan_default_suppressions(void) { return "# as in a file\nrace:^known_counter$\n"; }

static void count_first(void) { known_counter = known_counter + 1; }
static void count_second(void) { known_counter = known_counter + 2; }

int main(void) {
  in_turn(count_first, count_second);
  return known_counter == 3 ? 0 : 1;
}
