// SPDX-License-Identifier: Apache-2.0
// A race in a function that the user does not want to hear of.
// suppress: race:legacy_counter
#include "turns.h"

int counter;

__attribute__((noinline)) void legacy_counter(void) { counter++; }

int main(void) {
  in_turn(legacy_counter, legacy_counter);
  return 0;
}
