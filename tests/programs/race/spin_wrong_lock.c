// SPDX-License-Identifier: Apache-2.0
// Two spin locks.
#include "turns.h"

pthread_spinlock_t locks[2];
int shared;

static void first(void) {
  pthread_spin_lock(&locks[0]);
  shared = 1;  // race
  pthread_spin_unlock(&locks[0]);
}

static void second(void) {
  if (pthread_spin_trylock(&locks[1]) != 0) abort();
  shared = 2;  // race
  pthread_spin_unlock(&locks[1]);
}

int main(void) {
  pthread_spin_init(&locks[0], PTHREAD_PROCESS_PRIVATE);
  pthread_spin_init(&locks[1], PTHREAD_PROCESS_PRIVATE);
  in_turn(first, second);
  return 0;
}
