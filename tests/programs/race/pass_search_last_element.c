// SPDX-License-Identifier: Apache-2.0
// The element that ends the search: its iteration is not completed.
#include "turns.h"

enum { kCount = 100, kFound = 60, kFoundSoon = 1 };
long numbers[kCount];
int marks[kCount];
long place;

static void first(void) {
  long count = opaque(kCount);
  long at;
  for (at = 0; at < count; at++) {
    if (numbers[at] == 7) break;  // race: up
  }
  place = at;
  for (at = count - 1; at >= 0; at--) {
    if (marks[at] == 7) break;  // race: down
  }
  place += at;
}

static void second(void) {
  numbers[kFound] = 8;    // race: up
  marks[kFoundSoon] = 8;  // race: down
}

int main(void) {
  numbers[kFound] = 7;
  marks[kFoundSoon] = 7;
  in_turn(first, second);
  return place != kFound + kFoundSoon;
}
