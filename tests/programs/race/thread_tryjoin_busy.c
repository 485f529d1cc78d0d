// SPDX-License-Identifier: Apache-2.0
// An attempt to join that failed orders nothing.
#include "turns.h"

#include <errno.h>

int shared;

static void* writer(void* argument) {
  shared = 1;  // race
  order_reach(1);
  order_await(2);
  return argument;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, writer, NULL);
  order_await(1);
  if (pthread_tryjoin_np(thread, NULL) != EBUSY) return 1;
  shared = 2;  // race
  order_reach(2);
  pthread_join(thread, NULL);
  return 0;
}
