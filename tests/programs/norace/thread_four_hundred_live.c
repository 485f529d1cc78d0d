// SPDX-License-Identifier: Apache-2.0
// 400 threads at once behind one lock.
#include "turns.h"

#define COUNT 400

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int counter;
int ready;

static void* body(void* argument) {
  order_meet(&ready, COUNT);
  pthread_mutex_lock(&lock);
  counter++;
  pthread_mutex_unlock(&lock);
  return argument;
}

int main(void) {
  static pthread_t threads[COUNT];
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 128 * 1024);
  for (long i = 0; i < COUNT; i++) pthread_create(&threads[i], &attributes, body, NULL);
  for (long i = 0; i < COUNT; i++) pthread_join(threads[i], NULL);
  return counter == COUNT ? 0 : 1;
}
