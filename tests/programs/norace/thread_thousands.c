// SPDX-License-Identifier: Apache-2.0
// Thousands of short threads, joined and detached in turn.
// record: fasttrack (the reference detector takes minutes)
#include "turns.h"

#include <sched.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int counter;
int ended;

static void* body(void* argument) {
  char local[100];
  for (int i = 0; i < 100; i++) local[i] = (char)i;
  use(local[opaque(5)]);
  pthread_mutex_lock(&lock);
  counter++;
  pthread_mutex_unlock(&lock);
  order_add(&ended, 1);
  return argument;
}

int main(void) {
  for (int i = 0; i < 3000; i++) {
    pthread_t thread;
    while (pthread_create(&thread, NULL, body, NULL) != 0) sched_yield();
    if (i % 3 == 0) {
      pthread_detach(thread);
    } else {
      pthread_join(thread, NULL);
    }
  }
  while (order_load(&ended) != 3000) sched_yield();
  pthread_mutex_lock(&lock);
  int total = counter;
  pthread_mutex_unlock(&lock);
  return total == 3000 ? 0 : 1;
}
