// SPDX-License-Identifier: Apache-2.0
// Each thread holds another lock of a table whose locks are all made at one place.
#include "turns.h"

#define LOCKS 1000
pthread_mutex_t locks[LOCKS];
int data;

static void first(void) {
  pthread_mutex_lock(&locks[900]);
  data = 1;  // race
  pthread_mutex_unlock(&locks[900]);
}

static void second(void) {
  pthread_mutex_lock(&locks[901]);
  data = 2;  // race
  pthread_mutex_unlock(&locks[901]);
}

int main(void) {
  for (int i = 0; i < LOCKS; i++) pthread_mutex_init(&locks[i], NULL);
  in_turn(first, second);
  return 0;
}
