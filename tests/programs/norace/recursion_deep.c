// SPDX-License-Identifier: Apache-2.0
// A hundred thousand frames, several times.
// tsan: crashes (its stack of calls has 64K entries)
#include "turns.h"

int numbers[2];

__attribute__((noinline)) static int dive(int index, int depth) {
  if (depth == 0) return numbers[index]++;
  int result = dive(index, depth - 1) + 1;
  use(result);
  return result;
}

static void* body(void* argument) {
  for (int i = 0; i < 3; i++) use(dive((int)(long)argument, 100000));
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 64 << 20);
  for (long i = 0; i < 2; i++) pthread_create(&threads[i], &attributes, body, (void*)i);
  for (long i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  return numbers[0] == 3 ? 0 : 1;
}
