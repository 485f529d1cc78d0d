// SPDX-License-Identifier: Apache-2.0
// A handler at exit against a thread that was never joined.
#include "turns.h"

int shared;

static void at_exit(void) {
  use(shared);  // race
}

static void* writer(void* argument) {
  shared = 1;  // race
  order_reach(1);
  order_await(2);
  return argument;
}

int main(void) {
  pthread_t thread;
  atexit(at_exit);
  pthread_create(&thread, NULL, writer, NULL);
  order_await(1);
  return 0;
}
