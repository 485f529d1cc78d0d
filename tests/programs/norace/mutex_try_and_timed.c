// SPDX-License-Identifier: Apache-2.0
// trylock and timedlock, when they succeed.
#include "turns.h"

#include <sched.h>
#include <time.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int counter;

static void body(int index) {
  struct timespec limit;
  clock_gettime(CLOCK_REALTIME, &limit);
  limit.tv_sec += 3600;
  for (int i = 0; i < 300; i++) {
    if (index % 2 == 0) {
      while (pthread_mutex_trylock(&lock) != 0) sched_yield();
    } else {
      if (pthread_mutex_timedlock(&lock, &limit) != 0) abort();
    }
    counter++;
    pthread_mutex_unlock(&lock);
  }
}

int main(void) {
  at_once(4, body);
  return counter == 1200 ? 0 : 1;
}
