// SPDX-License-Identifier: Apache-2.0
// The first and the last of 400 threads that live at the same time.
// tsan: clang misses it (255 slots)
#include "turns.h"

#define COUNT 400

int shared;
int numbers[COUNT];
int ready;

static void* body(void* argument) {
  long index = (long)argument;
  numbers[index] = 1;
  if (index == 0) {
    shared = 1;  // race
  }
  order_add(&ready, 1);
  order_futex(&ready, ORDER_FUTEX_WAKE, INT_MAX);
  if (index == COUNT - 1) {
    order_await_at(&ready, COUNT);
    shared = 2;  // race
    order_reach(1);
  }
  order_await(1);
  numbers[index] = 2;
  return NULL;
}

int main(void) {
  static pthread_t threads[COUNT];
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 128 * 1024);
  for (long i = 0; i < COUNT; i++) pthread_create(&threads[i], &attributes, body, (void*)i);
  for (long i = 0; i < COUNT; i++) pthread_join(threads[i], NULL);
  return 0;
}
