// SPDX-License-Identifier: Apache-2.0
// A loop that is left by its second exit, after an access that the first one comes
// before.
#include "turns.h"

enum { kCount = 100, kFound = 40 };
long numbers[kCount];
int copies[kCount];
long place;

static void first(void) {
  long count = opaque(kCount);
  long at;
  for (at = 0; at < count; at++) {
    if (numbers[at] == 7) {
      place = -1;
      break;
    }
    copies[at] = (int)numbers[at];  // race
    if (numbers[at] == 9) {
      place = at;
      break;
    }
  }
}

static void second(void) { use(copies[kFound]); }  // race

int main(void) {
  numbers[kFound] = 9;
  in_turn(first, second);
  return place != kFound;
}
