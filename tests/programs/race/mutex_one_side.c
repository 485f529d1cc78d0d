// SPDX-License-Identifier: Apache-2.0
// Only the writer takes the lock.
#include "turns.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int shared;

static void first(void) {
  pthread_mutex_lock(&lock);
  shared = 1;  // race
  pthread_mutex_unlock(&lock);
}

static void second(void) { use(shared); }  // race

int main(void) {
  in_turn(first, second);
  return 0;
}
