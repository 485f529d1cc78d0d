// SPDX-License-Identifier: Apache-2.0
// A lock that was not got in time, in both variants.
#include "turns.h"

#include <errno.h>
#include <time.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
long shared;
long other;

static void* holder(void* argument) {
  pthread_mutex_lock(&lock);
  shared = 1;  // race: timed
  other = 1;   // race: clock
  order_reach(1);
  order_await(2);
  pthread_mutex_unlock(&lock);
  return argument;
}

int main(void) {
  struct timespec past = {0, 0};
  pthread_t thread;
  pthread_create(&thread, NULL, holder, NULL);
  order_await(1);
  if (pthread_mutex_timedlock(&lock, &past) != ETIMEDOUT) return 1;
  shared = 2;  // race: timed
  if (pthread_mutex_clocklock(&lock, CLOCK_MONOTONIC, &past) != ETIMEDOUT) return 1;
  other = 2;  // race: clock
  order_reach(2);
  pthread_join(thread, NULL);
  return 0;
}
