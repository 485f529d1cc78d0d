// SPDX-License-Identifier: Apache-2.0
// Joining one thread says nothing about the other.
#include "turns.h"

int shared;

static void* writer(void* argument) {
  shared = 1;  // race
  order_reach(1);
  return argument;
}

static void* idle(void* argument) { return argument; }

int main(void) {
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, writer, NULL);
  pthread_create(&threads[1], NULL, idle, NULL);
  order_await(1);
  pthread_join(threads[1], NULL);
  shared = 2;  // race
  pthread_join(threads[0], NULL);
  return 0;
}
