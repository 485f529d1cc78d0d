// SPDX-License-Identifier: Apache-2.0
// Large blocks that come and go at the same addresses, in one thread after the other;
// small blocks in memory that was a large one before.
// record: fasttrack (millions of bytes, one by one)
#include "turns.h"

#include <string.h>

enum { kThreads = 4 };

static void fill(int* numbers, int count, int value) {
  int index;
  for (index = 0; index < count; index++) numbers[index] = value;
}

static void body(int thread) {
  int round;
  for (round = 0; round < 20; round++) {
    int count = 20000 + 7000 * ((round + thread) % 5);
    int* numbers = (int*)malloc((size_t)count * sizeof(int));
    int* small[50];
    int index;
    fill(numbers, count, thread);
    numbers = (int*)realloc(numbers, (size_t)count * 2 * sizeof(int));
    fill(numbers + count, count, round);
    if (numbers[0] != thread || numbers[count] != round) abort();
    free(numbers);
    for (index = 0; index < 50; index++) {
      small[index] = (int*)malloc(400);
      fill(small[index], 100, index);
    }
    for (index = 0; index < 50; index++) free(small[index]);
  }
}

int main(void) {
  at_once(kThreads, body);
  return 0;
}
