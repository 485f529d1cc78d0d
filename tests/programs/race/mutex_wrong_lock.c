// SPDX-License-Identifier: Apache-2.0
// Each thread holds a lock, but not the same.
#include "turns.h"

pthread_mutex_t locks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
int shared;

static void first(void) {
  pthread_mutex_lock(&locks[0]);
  shared = 1;  // race
  pthread_mutex_unlock(&locks[0]);
}

static void second(void) {
  pthread_mutex_lock(&locks[1]);
  shared = 2;  // race
  pthread_mutex_unlock(&locks[1]);
}

int main(void) {
  in_turn(first, second);
  return 0;
}
