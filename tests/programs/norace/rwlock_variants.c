// SPDX-License-Identifier: Apache-2.0
// Try and timed variants, for reading and for writing.
#include "turns.h"

#include <time.h>

pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
int shared;

static void step(void) {
  struct timespec limit = {1LL << 40, 0};
  if (pthread_rwlock_trywrlock(&lock) != 0) abort();
  shared++;
  pthread_rwlock_unlock(&lock);
  if (pthread_rwlock_timedwrlock(&lock, &limit) != 0) abort();
  shared++;
  pthread_rwlock_unlock(&lock);
  if (pthread_rwlock_tryrdlock(&lock) != 0) abort();
  use(shared);
  pthread_rwlock_unlock(&lock);
  if (pthread_rwlock_timedrdlock(&lock, &limit) != 0) abort();
  use(shared);
  pthread_rwlock_unlock(&lock);
}

int main(void) {
  in_turn_3(step, step, step);
  return shared == 6 ? 0 : 1;
}
