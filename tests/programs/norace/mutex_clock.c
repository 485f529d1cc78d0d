// SPDX-License-Identifier: Apache-2.0
// pthread_mutex_clocklock with both clocks.
// tsan: g++ false alarm (the clock variants are not intercepted)
#include "turns.h"

#include <time.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int counter;

static void step(void) {
  const clockid_t clocks[2] = {CLOCK_MONOTONIC, CLOCK_REALTIME};
  for (int i = 0; i < 2; i++) {
    struct timespec limit;
    clock_gettime(clocks[i], &limit);
    limit.tv_sec += 3600;
    if (pthread_mutex_clocklock(&lock, clocks[i], &limit) != 0) abort();
    counter++;
    pthread_mutex_unlock(&lock);
  }
}

int main(void) {
  in_turn_3(step, step, step);
  return counter == 6 ? 0 : 1;
}
