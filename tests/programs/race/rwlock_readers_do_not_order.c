// SPDX-License-Identifier: Apache-2.0
// Two readers of a lock are not ordered with each other.
#include "turns.h"

pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
int shared;

static void first(void) {
  pthread_rwlock_rdlock(&lock);
  shared = 1;  // race
  pthread_rwlock_unlock(&lock);
}

static void second(void) {
  pthread_rwlock_rdlock(&lock);
  use(shared);  // race
  pthread_rwlock_unlock(&lock);
}

int main(void) {
  in_turn(first, second);
  return 0;
}
