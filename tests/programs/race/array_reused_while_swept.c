// SPDX-License-Identifier: Apache-2.0
// The array is freed and the memory allocated and used again before the thread that
// swept it synchronises. The race is with the free.
#include "turns.h"

enum { kElements = 25000 };

int* numbers;
int* again;

static void sweep(void) {
  int index;
  for (index = 0; index < kElements; index++) {
    numbers[index] = index;  // race
  }
}

static void reuse(void) {
  int index;
  free(numbers);  // race
  again = (int*)malloc(kElements * sizeof(int));
  for (index = 0; index < kElements; index++) again[index] = -index;
}

int main(void) {
  numbers = (int*)malloc(kElements * sizeof(int));
  in_turn(sweep, reuse);
  free(again);
  return 0;
}
