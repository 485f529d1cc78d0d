// SPDX-License-Identifier: Apache-2.0
// main ends with pthread_exit, and the others go on.
// tsan: never ends
#include "turns.h"

int shared;

static void* writer(void* argument) {
  order_await(1);
  shared = 2;  // race
  return argument;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, writer, NULL);
  shared = 1;  // race
  order_reach(1);
  pthread_exit(NULL);
}
