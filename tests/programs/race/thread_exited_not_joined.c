// SPDX-License-Identifier: Apache-2.0
// A thread that has ended is not ordered before others until someone joins it.
#include "turns.h"

int shared;

static void* writer(void* argument) {
  shared = 1;  // race
  order_reach(1);
  pthread_exit(argument);
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, writer, NULL);
  order_await(1);
  use(shared);  // race
  pthread_join(thread, NULL);
  return 0;
}
