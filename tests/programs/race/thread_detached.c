// SPDX-License-Identifier: Apache-2.0
// A detached thread is never joined.
#include "turns.h"

int shared;

static void* writer(void* argument) {
  shared = 1;  // race
  order_reach(1);
  return argument;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, writer, NULL);
  pthread_detach(thread);
  order_await(1);
  shared = 2;  // race
  return 0;
}
