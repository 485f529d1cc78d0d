// SPDX-License-Identifier: Apache-2.0
// A barrier orders before and after; two threads after it are as free as ever.
#include "turns.h"

pthread_barrier_t barrier;
int shared;

static void* first(void* argument) {
  pthread_barrier_wait(&barrier);
  shared = 1;  // race
  order_reach(1);
  return argument;
}

static void* second(void* argument) {
  pthread_barrier_wait(&barrier);
  order_await(1);
  shared = 2;  // race
  return argument;
}

int main(void) {
  pthread_t threads[2];
  pthread_barrier_init(&barrier, NULL, 2);
  pthread_create(&threads[0], NULL, first, NULL);
  pthread_create(&threads[1], NULL, second, NULL);
  pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);
  return 0;
}
