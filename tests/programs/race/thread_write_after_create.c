// SPDX-License-Identifier: Apache-2.0
// Creation orders what came before it, not what comes after.
#include "turns.h"

int shared;

static void* reader(void* argument) {
  order_await(1);
  use(shared);  // race
  return argument;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, reader, NULL);
  shared = 1;  // race
  order_reach(1);
  pthread_join(thread, NULL);
  return 0;
}
