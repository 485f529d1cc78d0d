// SPDX-License-Identifier: Apache-2.0
// A semaphore hands data from one thread to the other, in all variants.
#include "turns.h"

#include <sched.h>
#include <semaphore.h>
#include <time.h>

sem_t full;
sem_t empty;
int data;

static void take(sem_t* semaphore, int variant) {
  struct timespec limit;
  clock_gettime(CLOCK_REALTIME, &limit);
  limit.tv_sec += 3600;
  if (variant == 0) {
    sem_wait(semaphore);
  } else if (variant == 1) {
    while (sem_trywait(semaphore) != 0) sched_yield();
  } else {
    sem_timedwait(semaphore, &limit);
  }
}

static void body(int index) {
  for (int i = 0; i < 150; i++) {
    take(index == 0 ? &empty : &full, i % 3);
    data++;
    sem_post(index == 0 ? &full : &empty);
  }
}

int main(void) {
  sem_init(&full, 0, 0);
  sem_init(&empty, 0, 1);
  at_once(2, body);
  sem_destroy(&full);
  sem_destroy(&empty);
  return data == 300 ? 0 : 1;
}
