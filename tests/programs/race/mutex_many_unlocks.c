// SPDX-License-Identifier: Apache-2.0
// Three hundred thousand unlocks between the two accesses.
// tsan: clang misses it (the older stack is gone)
#include "turns.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int shared;
int counter;

static void first(void) { shared = 1; }  // race

static void second(void) {
  for (int i = 0; i < 300000; i++) {
    pthread_mutex_lock(&lock);
    counter++;
    pthread_mutex_unlock(&lock);
  }
  shared = 2;  // race
}

int main(void) {
  in_turn(first, second);
  return 0;
}
