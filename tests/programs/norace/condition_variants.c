// SPDX-License-Identifier: Apache-2.0
// timedwait and clockwait that are woken, and that run out of time.
#include "turns.h"

#include <errno.h>
#include <time.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
pthread_cond_t never = PTHREAD_COND_INITIALIZER;  // signalled by nobody: a wait on it only runs out of time
int stage;
int data;

static void wait_for(int wanted, int variant) {
  struct timespec limit;
  struct timespec past = {0, 0};
  clock_gettime(variant == 1 ? CLOCK_REALTIME : CLOCK_MONOTONIC, &limit);
  limit.tv_sec += 3600;
  pthread_mutex_lock(&lock);
  if (pthread_cond_timedwait(&never, &lock, &past) != ETIMEDOUT) abort();
  while (stage < wanted) {
    if (variant == 0) pthread_cond_wait(&condition, &lock);
    if (variant == 1) pthread_cond_timedwait(&condition, &lock, &limit);
    if (variant == 2) pthread_cond_clockwait(&condition, &lock, CLOCK_MONOTONIC, &limit);
  }
  data++;
  stage++;
  pthread_cond_broadcast(&condition);
  pthread_mutex_unlock(&lock);
}

static void body(int index) { wait_for(index, index); }

int main(void) {
  at_once(3, body);
  return data == 3 ? 0 : 1;
}
