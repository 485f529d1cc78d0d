// SPDX-License-Identifier: Apache-2.0
// After a report the location is still checked: the third access is a race of
// its own with the second.
// tsan: misses the second race on a word
#include "turns.h"

int shared;

static void first(void) { shared = 1; }   // race: A C?
static void second(void) { shared = 2; }  // race: A B
static void third(void) { shared = 3; }   // race: B C?

int main(void) {
  in_turn_3(first, second, third);
  return 0;
}
