// SPDX-License-Identifier: Apache-2.0
// The same for every way to take a lock for reading.
#include "turns.h"

#include <time.h>

pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
long shared[3];

static void first(void) {
  struct timespec limit = {1LL << 40, 0};
  if (pthread_rwlock_tryrdlock(&lock) != 0) abort();
  shared[0] = 1;  // race: try
  pthread_rwlock_unlock(&lock);
  if (pthread_rwlock_timedrdlock(&lock, &limit) != 0) abort();
  shared[1] = 1;  // race: timed
  pthread_rwlock_unlock(&lock);
  if (pthread_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC, &limit) != 0) abort();
  shared[2] = 1;  // race: clock
  pthread_rwlock_unlock(&lock);
}

static void second(void) {
  struct timespec limit = {1LL << 40, 0};
  if (pthread_rwlock_tryrdlock(&lock) != 0) abort();
  shared[0] = 2;  // race: try
  pthread_rwlock_unlock(&lock);
  if (pthread_rwlock_timedrdlock(&lock, &limit) != 0) abort();
  shared[1] = 2;  // race: timed
  pthread_rwlock_unlock(&lock);
  if (pthread_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC, &limit) != 0) abort();
  shared[2] = 2;  // race: clock
  pthread_rwlock_unlock(&lock);
}

int main(void) {
  in_turn(first, second);
  return 0;
}
