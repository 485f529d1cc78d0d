// SPDX-License-Identifier: Apache-2.0
// Cancelled in a wait on a condition: the mutex is taken again for the clean-up
// handler, which gives it back.
#include "turns.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
int shared;

static void clean_up(void* argument) {
  shared++;
  pthread_mutex_unlock(argument);
}

static void* waiter(void* argument) {
  pthread_mutex_lock(&lock);
  pthread_cleanup_push(clean_up, &lock);
  order_reach(1);
  for (;;) pthread_cond_wait(&condition, &lock);
  pthread_cleanup_pop(1);
  return argument;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, waiter, NULL);
  order_await(1);
  pthread_mutex_lock(&lock);
  shared++;
  pthread_mutex_unlock(&lock);
  pthread_cancel(thread);
  pthread_join(thread, NULL);
  pthread_mutex_lock(&lock);
  shared++;
  pthread_mutex_unlock(&lock);
  return shared == 3 ? 0 : 1;
}
