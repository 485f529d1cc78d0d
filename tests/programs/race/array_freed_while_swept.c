// SPDX-License-Identifier: Apache-2.0
// The sweep is over and the thread has not synchronised since, when another thread
// frees the array.
#include "turns.h"

enum { kElements = 50000 };

int* numbers;

static void sweep(void) {
  int index;
  for (index = 0; index < kElements; index++) {
    numbers[index] = index;  // race
  }
}

static void give_back(void) {
  free(numbers);  // race
}

int main(void) {
  numbers = (int*)malloc(kElements * sizeof(int));
  in_turn(sweep, give_back);
  return 0;
}
