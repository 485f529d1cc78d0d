// SPDX-License-Identifier: Apache-2.0
// A join that ran out of time orders nothing.
#include "turns.h"

#include <errno.h>
#include <time.h>

int shared;

static void* writer(void* argument) {
  shared = 1;  // race
  order_reach(1);
  order_await(2);
  return argument;
}

int main(void) {
  struct timespec now;
  pthread_t thread;
  pthread_create(&thread, NULL, writer, NULL);
  order_await(1);
  clock_gettime(CLOCK_REALTIME, &now);
  if (pthread_timedjoin_np(thread, NULL, &now) != ETIMEDOUT) return 1;
  shared = 2;  // race
  order_reach(2);
  pthread_join(thread, NULL);
  return 0;
}
