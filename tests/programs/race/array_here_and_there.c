// SPDX-License-Identifier: Apache-2.0
// No pattern: a generator of numbers says which element comes next. Another thread
// did the same before, and a third of the elements are in both.
#include "turns.h"

enum { kElements = 200000 };

long* numbers;

static unsigned next_place(unsigned* state, int own) {
  do {
    *state = *state * 1664525U + 1013904223U;
  } while ((int)(*state >> 8) % 3 == 1 - own);
  return (*state >> 8) % kElements;
}

static void first(void) {
  unsigned state = 1;
  int turn;
  for (turn = 0; turn < 20000; turn++) {
    numbers[next_place(&state, 0)] += 1;  // race
  }
}

static void second(void) {
  unsigned state = 1;
  int turn;
  for (turn = 0; turn < 20000; turn++) {
    numbers[next_place(&state, 1)] += 2;  // race
  }
}

int main(void) {
  numbers = (long*)calloc(kElements, sizeof(long));
  in_turn(first, second);
  free(numbers);
  return 0;
}
