// SPDX-License-Identifier: Apache-2.0
// Seventeen readers, of which the first is the only one that is not ordered
// before the write.
// tsan: may miss it (four cells per word)
#include "turns.h"

int shared;
int done;

static void* reader(void* argument) {
  long index = (long)argument;
  use(shared);  // race
  if (index == 0) {
    order_reach(1);
    order_await(2);
  }
  return NULL;
}

int main(void) {
  pthread_t first;
  pthread_t others[16];
  pthread_create(&first, NULL, reader, (void*)0);
  order_await(1);
  for (long i = 0; i < 16; i++) pthread_create(&others[i], NULL, reader, (void*)(i + 1));
  for (long i = 0; i < 16; i++) pthread_join(others[i], NULL);
  shared = 1;  // race
  order_reach(2);
  pthread_join(first, NULL);
  return 0;
}
