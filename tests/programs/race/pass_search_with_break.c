// SPDX-License-Identifier: Apache-2.0
// Searches that end before the end: one of the elements that they have looked at, in a
// long one and in one that ends soon.
#include "turns.h"

enum { kCount = 100, kFound = 60, kFoundSoon = 4 };
long numbers[kCount];
char letters[kCount];
long place;

static void first(void) {
  long count = opaque(kCount);
  long at;
  for (at = 0; at < count; at++) {
    if (numbers[at] == 7) break;  // race: long
  }
  place = at;
  for (at = 0; letters[at] != '\n'; at++) {  // race: short
  }
  place += at;
}

static void second(void) {
  numbers[kFound - 3] = 2;  // race: long
  letters[2] = 'b';         // race: short
}

int main(void) {
  numbers[kFound] = 7;
  letters[kFoundSoon] = '\n';
  in_turn(first, second);
  return place != kFound + kFoundSoon;
}
