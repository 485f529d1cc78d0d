// SPDX-License-Identifier: Apache-2.0
// The destructor of a thread's value runs in that thread, before a join.
#include "turns.h"

int shared;
pthread_key_t key;

static void destroy(void* value) {
  shared = 1;  // race
  order_reach(1);
  use((long long)value);
}

static void* owner(void* argument) {
  pthread_setspecific(key, &shared);
  return argument;
}

int main(void) {
  pthread_t thread;
  pthread_key_create(&key, destroy);
  pthread_create(&thread, NULL, owner, NULL);
  order_await(1);
  shared = 2;  // race
  pthread_join(thread, NULL);
  return 0;
}
