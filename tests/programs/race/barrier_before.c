// SPDX-License-Identifier: Apache-2.0
// Both write before they meet.
#include "turns.h"

pthread_barrier_t barrier;
int shared;

static void* first(void* argument) {
  shared = 1;  // race
  order_reach(1);
  pthread_barrier_wait(&barrier);
  return argument;
}

static void* second(void* argument) {
  order_await(1);
  shared = 2;  // race
  pthread_barrier_wait(&barrier);
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
