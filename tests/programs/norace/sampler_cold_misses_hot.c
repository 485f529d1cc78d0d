// SPDX-License-Identifier: Apache-2.0
// These are races, which the cold-code sampler must not see: both sides are in functions
// that their threads called a hundred thousand times before, so that these calls are not
// looked at.
// options: sampler=cold
// compilers: g++ (with the compiler pass everything is checked, and the races are found)
// record: no (a sampler has no trace)
// tsan: reports them
#include "turns.h"

#include <string.h>

#define HOT __attribute__((noinline, noclone)) static

struct __attribute__((packed)) Odd {
  char byte;
  long number;
};

int shared;
struct Odd odd;
char text[64];

HOT void touch(int* where) { *where += 1; }
HOT void touch_odd(struct Odd* where) { where->number += 1; }
HOT void copy(char* where, int size) { memcpy(where, "something", opaque(size)); }

static void touch_all(int* number, struct Odd* structure, char* string) {
  touch(number);
  touch_odd(structure);
  copy(string, 9);
}

static void run(void) {
  int own = 0;
  struct Odd own_odd = {0, 0};
  char own_text[64];
  int i;
  for (i = 0; i < 100000; i++) touch_all(&own, &own_odd, own_text);
  touch_all(&shared, &odd, text);
}

int main(void) {
  in_turn(run, run);
  return 0;
}
