// SPDX-License-Identifier: Apache-2.0
// pthread_rwlock_clockrdlock and clockwrlock.
// tsan: false alarm (the clock variants of rwlocks are not intercepted)
#include "turns.h"

#include <time.h>

pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
int shared;

static void step(void) {
  struct timespec limit = {1LL << 40, 0};
  if (pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &limit) != 0) abort();
  shared++;
  pthread_rwlock_unlock(&lock);
  if (pthread_rwlock_clockrdlock(&lock, CLOCK_REALTIME, &limit) != 0) abort();
  use(shared);
  pthread_rwlock_unlock(&lock);
}

int main(void) {
  in_turn_3(step, step, step);
  return shared == 3 ? 0 : 1;
}
