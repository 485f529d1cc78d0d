// SPDX-License-Identifier: Apache-2.0
// Every function that joins.
// tsan: false alarm (pthread_clockjoin_np is not intercepted)
#include "turns.h"

#include <sched.h>
#include <time.h>

int shared;

static void* body(void* argument) {
  shared++;
  return argument;
}

static struct timespec in_an_hour(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  time.tv_sec += 3600;
  return time;
}

int main(void) {
  pthread_t thread;
  struct timespec time;

  pthread_create(&thread, NULL, body, NULL);
  while (pthread_tryjoin_np(thread, NULL) != 0) sched_yield();
  shared++;

  pthread_create(&thread, NULL, body, NULL);
  time = in_an_hour(CLOCK_REALTIME);
  if (pthread_timedjoin_np(thread, NULL, &time) != 0) return 1;
  shared++;

  pthread_create(&thread, NULL, body, NULL);
  time = in_an_hour(CLOCK_MONOTONIC);
  if (pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &time) != 0) return 1;
  shared++;
  return shared == 6 ? 0 : 1;
}
