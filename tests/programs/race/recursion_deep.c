// SPDX-License-Identifier: Apache-2.0
// A race with a hundred thousand frames above it.
// tsan: crashes (its stack of calls has 64K entries)
#include "turns.h"

int shared;

__attribute__((noinline)) static int dive(int depth) {
  if (depth == 0) {
    shared++;  // race
    return 0;
  }
  int result = dive(depth - 1) + 1;
  use(result);
  return result;
}

static void* body(void* argument) {
  int turn = (int)(long)argument;
  order_await(turn);
  use(dive(100000));
  order_reach(turn + 1);
  order_await(2);
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 64 << 20);
  for (long i = 0; i < 2; i++) pthread_create(&threads[i], &attributes, body, (void*)i);
  for (long i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  return 0;
}
