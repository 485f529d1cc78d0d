// SPDX-License-Identifier: Apache-2.0
// A wait that ran out of time saw nothing of the other thread.
#include "turns.h"

#include <errno.h>
#include <time.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
int shared;

static void first(void) { shared = 1; }  // race

static void second(void) {
  struct timespec past = {0, 0};
  pthread_mutex_lock(&lock);
  if (pthread_cond_timedwait(&condition, &lock, &past) != ETIMEDOUT) abort();
  use(shared);  // race
  pthread_mutex_unlock(&lock);
}

int main(void) {
  in_turn(first, second);
  return 0;
}
