// SPDX-License-Identifier: Apache-2.0
// The first half of an array may be raced on. The other half may not.
#include <deadheat/annotate.h>

#include "turns.h"

enum { kElements = 100000 };

int* numbers;

static void count_up(void) {
  int index;
  for (index = 0; index < kElements; index++) {
    numbers[index] = index;  // race
  }
}

static void count_down(void) {
  int index;
  for (index = kElements - 1; index >= 0; index--) {
    numbers[index] = -index;  // race
  }
}

int main(void) {
  numbers = (int*)malloc(kElements * sizeof(int));
  deadheat_benign(numbers, kElements / 2 * sizeof(int));
  in_turn(count_up, count_down);
  free(numbers);
  return 0;
}
