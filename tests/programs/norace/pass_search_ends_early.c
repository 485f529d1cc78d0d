// SPDX-License-Identifier: Apache-2.0
// What comes after the end of a search belongs to another thread, and so does the
// element that it did not come to write.
#include "turns.h"

enum { kCount = 100, kFound = 60, kFoundSoon = 2 };
int numbers[kCount];
int soon[kCount];
int copies[kCount];
int downwards[kCount];
char letters[kCount];
long sum;

static void first(void) {
  long count = opaque(kCount);
  long at;
  for (at = 0; at < count; at++) {
    if (numbers[at] == 7) break;
    copies[at] = 1;
  }
  sum = at;
  for (at = 0; at < count && soon[at] != 7; at++) {
  }
  sum += at;
  for (at = count - 1; downwards[at] != 7; at--) {
  }
  sum += at;
  for (at = 0; letters[at] != 0; at++) letters[at] = 'b';
  sum += at;
}

static void second(void) {
  long count = opaque(kCount);
  long at;
  copies[kFound] = 2;
  for (at = kFound + 1; at < count; at++) {
    numbers[at] = 2;
    copies[at] = 2;
    letters[at] = 'c';
  }
  for (at = kFoundSoon + 1; at < count; at++) soon[at] = 2;
  for (at = 0; at < kFound; at++) downwards[at] = 2;
}

int main(void) {
  long at;
  for (at = 0; at < kFound; at++) letters[at] = 'a';
  numbers[kFound] = 7;
  soon[kFoundSoon] = 7;
  downwards[kFound] = 7;
  in_turn(first, second);
  return sum != 3 * kFound + kFoundSoon || copies[kFound - 1] != 1 || letters[kFound - 1] != 'b';
}
