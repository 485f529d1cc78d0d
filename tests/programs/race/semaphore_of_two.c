// SPDX-License-Identifier: Apache-2.0
// A semaphore that lets two in is no lock.
#include "turns.h"

#include <semaphore.h>

sem_t semaphore;
int shared;

static void* first(void* argument) {
  sem_wait(&semaphore);
  shared = 1;  // race
  order_reach(1);
  order_await(2);
  sem_post(&semaphore);
  return argument;
}

static void* second(void* argument) {
  order_await(1);
  sem_wait(&semaphore);
  shared = 2;  // race
  order_reach(2);
  sem_post(&semaphore);
  return argument;
}

int main(void) {
  pthread_t threads[2];
  sem_init(&semaphore, 0, 2);
  pthread_create(&threads[0], NULL, first, NULL);
  pthread_create(&threads[1], NULL, second, NULL);
  pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);
  return 0;
}
