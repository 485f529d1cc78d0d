// SPDX-License-Identifier: Apache-2.0
// The flag of a condition is written without the lock.
#include "turns.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
int ready;

static void* waiter(void* argument) {
  pthread_mutex_lock(&lock);
  use(ready);  // race
  order_reach(1);
  pthread_cond_wait(&condition, &lock);
  pthread_mutex_unlock(&lock);
  return argument;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, waiter, NULL);
  order_await(1);
  ready = 1;  // race
  pthread_mutex_lock(&lock);
  pthread_cond_signal(&condition);
  pthread_mutex_unlock(&lock);
  pthread_join(thread, NULL);
  return 0;
}
