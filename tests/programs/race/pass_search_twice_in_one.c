// SPDX-License-Identifier: Apache-2.0
// Two elements of one search, at its beginning and far on: one race of two lines.
// findings: 1
#include "turns.h"

enum { kCount = 100, kFound = 60 };
long numbers[kCount];
long place;

static void first(void) {
  long count = opaque(kCount);
  long at;
  for (at = 0; at < count; at++) {
    if (numbers[at] == 7) break;  // race
  }
  place = at;
}

static void second(void) {
  long at;
  for (at = 2; at < kFound; at += 40) numbers[at] = opaque(2);  // race
}

int main(void) {
  numbers[kFound] = 7;
  in_turn(first, second);
  return place != kFound;
}
