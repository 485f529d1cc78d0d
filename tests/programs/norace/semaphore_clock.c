// SPDX-License-Identifier: Apache-2.0
// sem_clockwait.
// tsan: false alarm (sem_clockwait is not intercepted)
#include "turns.h"

#include <semaphore.h>
#include <time.h>

sem_t full;
int data;

static void first(void) {
  data = 1;
  sem_post(&full);
}

static void second(void) {
  struct timespec limit = {1LL << 40, 0};
  if (sem_clockwait(&full, CLOCK_MONOTONIC, &limit) != 0) abort();
  data++;
}

int main(void) {
  sem_init(&full, 0, 0);
  in_turn(first, second);
  return data == 2 ? 0 : 1;
}
