// SPDX-License-Identifier: Apache-2.0
// A million elements, the even ones by one thread and the odd ones by the other, but
// for one that both write.
#include "turns.h"

enum { kElements = 1000000 };

int* numbers;

static void write_even(void) {
  int index;
  for (index = 0; index < kElements; index += 2) {
    numbers[index] = index;  // race
  }
}

static void write_odd(void) {
  int index;
  for (index = 1; index < kElements; index += 2) {
    numbers[index == 777777 ? 777776 : index] = index;  // race
  }
}

int main(void) {
  numbers = (int*)malloc(kElements * sizeof(int));
  in_turn(write_even, write_odd);
  free(numbers);
  return 0;
}
