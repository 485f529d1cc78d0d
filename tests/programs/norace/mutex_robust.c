// SPDX-License-Identifier: Apache-2.0
// The owner of a robust mutex dies; the next one is told and goes on.
// tsan: false alarm (the death of the owner releases nothing)
#include "turns.h"

#include <errno.h>

pthread_mutex_t lock;
int shared;

static void* die(void* argument) {
  pthread_mutex_lock(&lock);
  shared = 1;
  return argument;
}

static void* inherit(void* argument) {
  order_await(1);
  if (pthread_mutex_lock(&lock) != EOWNERDEAD) abort();
  shared = 2;
  pthread_mutex_consistent(&lock);
  pthread_mutex_unlock(&lock);
  return argument;
}

int main(void) {
  pthread_mutexattr_t attributes;
  pthread_t threads[2];
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&lock, &attributes);
  pthread_create(&threads[1], NULL, inherit, NULL);
  pthread_create(&threads[0], NULL, die, NULL);
  pthread_join(threads[0], NULL);
  order_reach(1);
  pthread_join(threads[1], NULL);
  return shared == 2 ? 0 : 1;
}
