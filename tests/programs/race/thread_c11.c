// SPDX-License-Identifier: Apache-2.0
// The threads of C11.
// tsan: crashes (C11 threads are not intercepted)
#include "order.h"

#include <threads.h>

int shared;

static int writer(void* argument) {
  shared = 1;  // race
  order_reach(1);
  use((long long)argument);
  return 0;
}

int main(void) {
  thrd_t thread;
  thrd_create(&thread, writer, NULL);
  order_await(1);
  shared = 2;  // race
  thrd_join(thread, NULL);
  return 0;
}
