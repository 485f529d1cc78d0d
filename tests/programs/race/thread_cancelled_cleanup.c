// SPDX-License-Identifier: Apache-2.0
// The clean-up handler of a cancelled thread belongs to that thread.
#include "turns.h"

#include <unistd.h>

int shared;

static void clean_up(void* argument) {
  shared = 1;  // race
  order_reach(2);
  use((long long)argument);
}

static void* sleeper(void* argument) {
  pthread_cleanup_push(clean_up, argument);
  order_reach(1);
  for (;;) pause();
  pthread_cleanup_pop(0);
  return NULL;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, sleeper, NULL);
  order_await(1);
  pthread_cancel(thread);
  order_await(2);
  shared = 2;  // race
  pthread_join(thread, NULL);
  return 0;
}
