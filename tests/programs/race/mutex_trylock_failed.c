// SPDX-License-Identifier: Apache-2.0
// An attempt that failed, and the access all the same.
#include "turns.h"

#include <errno.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int shared;

static void* holder(void* argument) {
  pthread_mutex_lock(&lock);
  shared = 1;  // race
  order_reach(1);
  order_await(2);
  pthread_mutex_unlock(&lock);
  return argument;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, holder, NULL);
  order_await(1);
  if (pthread_mutex_trylock(&lock) != EBUSY) return 1;
  shared = 2;  // race
  order_reach(2);
  pthread_join(thread, NULL);
  return 0;
}
