// SPDX-License-Identifier: Apache-2.0
// The process ends while the thread that swept the array is still there and has not
// synchronised since.
#include "order.h"

#include <pthread.h>
#include <stdlib.h>

enum { kElements = 100000 };

short* numbers;

static void* sweep(void* argument) {
  int index;
  for (index = 0; index < kElements; index++) {
    numbers[index] = (short)index;  // race
  }
  order_reach(1);
  order_await(2);
  return argument;
}

int main(void) {
  pthread_t thread;
  int index;
  numbers = (short*)malloc(kElements * sizeof(short));
  if (pthread_create(&thread, NULL, sweep, NULL) != 0) abort();
  order_await(1);
  for (index = 0; index < kElements; index += 7) {
    numbers[index] = 1;  // race
  }
  return 0;
}
