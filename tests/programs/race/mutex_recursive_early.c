// SPDX-License-Identifier: Apache-2.0
// The inner unlock of a recursive mutex does not release it: the outer section
// goes on, and a thread without the lock sees none of it.
#include "turns.h"

pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
int shared;

static void* holder(void* argument) {
  pthread_mutex_lock(&lock);
  pthread_mutex_lock(&lock);
  shared = 1;  // race
  pthread_mutex_unlock(&lock);
  order_reach(1);
  order_await(2);
  pthread_mutex_unlock(&lock);
  return argument;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, holder, NULL);
  order_await(1);
  if (pthread_mutex_trylock(&lock) == 0) return 1;
  shared = 2;  // race
  order_reach(2);
  pthread_join(thread, NULL);
  return 0;
}
