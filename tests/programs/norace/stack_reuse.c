// SPDX-License-Identifier: Apache-2.0
// The stacks of ended threads become those of new ones.
#include "turns.h"

static void* fill(void* argument) {
  char local[5000];
  for (int i = 0; i < 5000; i++) local[i] = (char)i;
  __asm__ volatile("" : : "r"(local) : "memory");
  return argument;
}

static int finished;

static void* fill_and_tell(void* argument) {
  fill(argument);
  order_add(&finished, 1);
  order_futex(&finished, ORDER_FUTEX_WAKE, INT_MAX);
  return NULL;
}

int main(void) {
  for (int i = 0; i < 200; i++) {
    pthread_t thread;
    pthread_create(&thread, NULL, fill_and_tell, NULL);
    if (i % 2 == 0) {
      pthread_join(thread, NULL);
    } else {
      pthread_detach(thread);
    }
  }
  order_await_at(&finished, 200);
  return 0;
}
