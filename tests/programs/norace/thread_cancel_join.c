// SPDX-License-Identifier: Apache-2.0
// Cancelled while it waits, cleaned up, joined.
#include "turns.h"

#include <unistd.h>

int shared;

static void clean_up(void* argument) { ++*(int*)argument; }

static void* sleeper(void* argument) {
  pthread_cleanup_push(clean_up, argument);
  order_reach(1);
  for (;;) pause();
  pthread_cleanup_pop(0);
  return NULL;
}

int main(void) {
  pthread_t thread;
  void* result;
  pthread_create(&thread, NULL, sleeper, &shared);
  order_await(1);
  pthread_cancel(thread);
  pthread_join(thread, &result);
  shared++;
  return shared == 2 && result == PTHREAD_CANCELED ? 0 : 1;
}
