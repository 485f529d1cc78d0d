// SPDX-License-Identifier: Apache-2.0
// The second write has another epoch than the first, although the address is the
// same: the check must be repeated.
#include "turns.h"

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
long shared;

static void first(void) {
  pthread_mutex_lock(&mutex);
  shared = 1;
  pthread_mutex_unlock(&mutex);
  shared = 2;  // race
}

static void second(void) {
  pthread_mutex_lock(&mutex);
  shared = 3;  // race
  pthread_mutex_unlock(&mutex);
}

int main(void) {
  in_turn(first, second);
  return 0;
}
