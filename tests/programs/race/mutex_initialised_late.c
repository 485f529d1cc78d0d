// SPDX-License-Identifier: Apache-2.0
// Nothing but the mutex itself orders its initialisation before its use by another
// thread.
#include "turns.h"

pthread_mutex_t lock;

static void first(void) {
  pthread_mutex_init(&lock, NULL);  // race
  pthread_mutex_lock(&lock);
  pthread_mutex_unlock(&lock);
}

static void second(void) {
  pthread_mutex_lock(&lock);  // race
  pthread_mutex_unlock(&lock);
}

int main(void) {
  in_turn(first, second);
  return 0;
}
