// SPDX-License-Identifier: Apache-2.0
// A write follows the read, but only after the lock has ordered it: it does not
// stand for the read.
#include "turns.h"

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
long shared;

static void first(void) {
  pthread_mutex_lock(&mutex);
  shared = 1;  // race
  pthread_mutex_unlock(&mutex);
}

static void second(void) {
  long seen = shared;  // race
  pthread_mutex_lock(&mutex);
  shared = seen + 1;
  pthread_mutex_unlock(&mutex);
}

int main(void) {
  in_turn(first, second);
  return 0;
}
