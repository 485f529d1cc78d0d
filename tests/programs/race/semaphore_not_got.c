// SPDX-License-Identifier: Apache-2.0
// Waits that failed, in all variants.
#include "turns.h"

#include <errno.h>
#include <semaphore.h>
#include <time.h>

sem_t semaphore;
long shared[3];

static void first(void) {
  shared[0] = 1;  // race: try
  shared[1] = 1;  // race: timed
  shared[2] = 1;  // race: clock
}

static void second(void) {
  struct timespec past = {0, 0};
  if (sem_trywait(&semaphore) == 0 || errno != EAGAIN) abort();
  shared[0] = 2;  // race: try
  if (sem_timedwait(&semaphore, &past) == 0 || errno != ETIMEDOUT) abort();
  shared[1] = 2;  // race: timed
  if (sem_clockwait(&semaphore, CLOCK_MONOTONIC, &past) == 0 || errno != ETIMEDOUT) abort();
  shared[2] = 2;  // race: clock
}

int main(void) {
  sem_init(&semaphore, 0, 0);
  in_turn(first, second);
  return 0;
}
