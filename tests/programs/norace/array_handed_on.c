// SPDX-License-Identifier: Apache-2.0
// An array goes through the hands of all threads under a lock; each sweeps it in
// another way: up, down, every other element, bytes, all at once, here and there.
// record: fasttrack (millions of bytes, one by one)
#include "turns.h"

#include <string.h>

enum { kElements = 40000, kThreads = 6 };

int* numbers;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int turn;

static void sweep(int way) {
  int index;
  unsigned state = 7;
  for (index = 0; index < kElements; index++) {
    switch (way) {
      case 0:
        numbers[index]++;
        break;
      case 1:
        numbers[kElements - 1 - index]++;
        break;
      case 2:
        numbers[index * 2 % kElements + index * 2 / kElements]++;
        break;
      case 3:
        ((unsigned char*)numbers)[index]++;
        break;
      case 4:
        if (index % 1000 == 0) memset(numbers + index, 1, 1000 * sizeof(int));
        break;
      default:
        state = state * 1664525U + 1013904223U;
        numbers[(state >> 8) % kElements]++;
    }
  }
}

static void body(int thread) {
  int done = 0;
  while (done < 4) {
    pthread_mutex_lock(&lock);
    if (turn % kThreads == thread) {
      sweep((thread + done) % kThreads);
      turn++;
      done++;
    }
    pthread_mutex_unlock(&lock);
  }
}

int main(void) {
  numbers = (int*)calloc(kElements, sizeof(int));
  at_once(kThreads, body);
  free(numbers);
  return turn == 4 * kThreads ? 0 : 1;
}
