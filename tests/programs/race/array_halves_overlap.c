// SPDX-License-Identifier: Apache-2.0
// Two halves that have one element in common, the second one from its end downwards.
#include "turns.h"

enum { kElements = 100000 };

double* numbers;

static void write_lower(void) {
  int index;
  for (index = 0; index <= kElements / 2; index++) {
    numbers[index] = index;  // race
  }
}

static void write_upper(void) {
  int index;
  for (index = kElements - 1; index >= kElements / 2; index--) {
    numbers[index] = -index;  // race
  }
}

int main(void) {
  numbers = (double*)malloc(kElements * sizeof(double));
  in_turn(write_lower, write_upper);
  free(numbers);
  return 0;
}
