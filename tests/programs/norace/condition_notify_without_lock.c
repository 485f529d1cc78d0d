// SPDX-License-Identifier: Apache-2.0
// The notifier has given the lock back before it signals.
#include "turns.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
int ready;
int data;

static void body(int index) {
  if (index == 0) {
    data = 42;
    pthread_mutex_lock(&lock);
    ready = 1;
    pthread_mutex_unlock(&lock);
    pthread_cond_broadcast(&condition);
  } else {
    pthread_mutex_lock(&lock);
    while (!ready) pthread_cond_wait(&condition, &lock);
    pthread_mutex_unlock(&lock);
    use(data);
  }
}

int main(void) {
  for (int round = 0; round < 20; round++) {
    ready = 0;
    at_once(4, body);
  }
  return 0;
}
