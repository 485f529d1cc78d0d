// SPDX-License-Identifier: Apache-2.0
// Creation and join order everything.
#include "turns.h"

int shared;

static void* body(void* argument) {
  shared++;
  return argument;
}

int main(void) {
  for (int i = 0; i < 50; i++) {
    pthread_t thread;
    void* result;
    shared++;
    pthread_create(&thread, NULL, body, &shared);
    pthread_join(thread, &result);
    if (result != &shared) return 1;
    shared++;
  }
  return shared == 150 ? 0 : 1;
}
