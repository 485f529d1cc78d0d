// SPDX-License-Identifier: Apache-2.0
// A writer's section, then one that only claims to read.
#include "turns.h"

pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
int shared;
int cache;

static void first(void) {
  pthread_rwlock_rdlock(&lock);
  use(shared);
  cache = 1;  // race
  pthread_rwlock_unlock(&lock);
}

static void second(void) {
  pthread_rwlock_rdlock(&lock);
  use(shared);
  cache = 2;  // race
  pthread_rwlock_unlock(&lock);
}

int main(void) {
  shared = 1;
  in_turn(first, second);
  return 0;
}
