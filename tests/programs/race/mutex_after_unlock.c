// SPDX-License-Identifier: Apache-2.0
// The write comes after the lock was given back.
#include "turns.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int shared;

static void first(void) {
  pthread_mutex_lock(&lock);
  pthread_mutex_unlock(&lock);
  shared = 1;  // race
}

static void second(void) {
  pthread_mutex_lock(&lock);
  shared = 2;  // race
  pthread_mutex_unlock(&lock);
}

int main(void) {
  in_turn(first, second);
  return 0;
}
