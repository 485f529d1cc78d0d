// SPDX-License-Identifier: Apache-2.0
// Cousins are not ordered, whoever created them.
#include "turns.h"

int shared;

static void* first(void* argument) {
  shared = 1;  // race
  order_reach(1);
  return argument;
}

static void* second(void* argument) {
  order_await(1);
  shared = 2;  // race
  order_reach(2);
  return argument;
}

static void* parent(void* argument) {
  pthread_t child;
  pthread_create(&child, NULL, argument == NULL ? first : second, NULL);
  order_await(2);
  pthread_join(child, NULL);
  return NULL;
}

int main(void) {
  pthread_t parents[2];
  pthread_create(&parents[0], NULL, parent, NULL);
  pthread_create(&parents[1], NULL, parent, &shared);
  pthread_join(parents[0], NULL);
  pthread_join(parents[1], NULL);
  return 0;
}
