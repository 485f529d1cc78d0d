// SPDX-License-Identifier: Apache-2.0
// All of an array may be raced on.
#include <deadheat/annotate.h>

#include "turns.h"

enum { kElements = 100000 };

int* numbers;

static void count_up(void) {
  int index;
  for (index = 0; index < kElements; index++) {
    numbers[index] = index;
  }
}

static void count_down(void) {
  int index;
  for (index = kElements - 1; index >= 0; index--) {
    numbers[index] = -index;
  }
}

int main(void) {
  numbers = (int*)malloc(kElements * sizeof(int));
  deadheat_benign(numbers, kElements * sizeof(int));
  in_turn(count_up, count_down);
  free(numbers);
  return 0;
}
