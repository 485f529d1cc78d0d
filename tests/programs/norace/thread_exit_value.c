// SPDX-License-Identifier: Apache-2.0
// What a thread returns by pthread_exit, from deep inside.
#include "turns.h"

__attribute__((noinline)) static void leave(int* result, int depth) {
  if (depth > 0) leave(result, depth - 1);
  *result = 42;
  pthread_exit(result);
}

static void* body(void* argument) {
  leave(argument, 10);
  return NULL;
}

int main(void) {
  pthread_t thread;
  int value = 0;
  void* result;
  pthread_create(&thread, NULL, body, &value);
  pthread_join(thread, &result);
  return *(int*)result == 42 ? 0 : 1;
}
