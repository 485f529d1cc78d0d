// SPDX-License-Identifier: Apache-2.0
// Detached from birth, by its attributes, and gone before the second access.
// tsan: g++ misses it
#include "turns.h"

int shared;

static void* writer(void* argument) {
  shared = 1;  // race
  order_reach(1);
  return argument;
}

static void* later(void* argument) { return argument; }

int main(void) {
  pthread_t thread;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_create(&thread, &attributes, writer, NULL);
  pthread_attr_destroy(&attributes);
  order_await(1);
  for (int i = 0; i < 20; i++) {
    pthread_create(&thread, NULL, later, NULL);
    pthread_join(thread, NULL);
  }
  shared = 2;  // race
  return 0;
}
