// SPDX-License-Identifier: Apache-2.0
// More than six million unlocks between the two accesses, by both threads.
// long: six million unlocks
// tsan: misses it (all is forgotten after four million releases)
#include "turns.h"

pthread_mutex_t locks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
int shared;
int counters[2];

static void spend(int index) {
  for (int i = 0; i < 3300000; i++) {
    pthread_mutex_lock(&locks[index]);
    counters[index]++;
    pthread_mutex_unlock(&locks[index]);
  }
}

static void first(void) {
  shared = 1;  // race
  spend(0);
}

static void second(void) {
  spend(1);
  shared = 2;  // race
}

int main(void) {
  in_turn(first, second);
  return 0;
}
