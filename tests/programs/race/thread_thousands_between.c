// SPDX-License-Identifier: Apache-2.0
// Two thousand threads come and go between the two accesses.
// tsan: clang misses it (the older stack is gone)
#include "turns.h"

int shared;
int data;

static void* writer(void* argument) {
  shared = 1;  // race
  order_reach(1);
  order_await(2);
  return argument;
}

static void* other(void* argument) {
  data++;
  return argument;
}

int main(void) {
  pthread_t first;
  pthread_t thread;
  pthread_create(&first, NULL, writer, NULL);
  order_await(1);
  for (int i = 0; i < 2000; i++) {
    pthread_create(&thread, NULL, other, NULL);
    pthread_join(thread, NULL);
  }
  shared = 2;  // race
  order_reach(2);
  pthread_join(first, NULL);
  return data == 2000 ? 0 : 1;
}
