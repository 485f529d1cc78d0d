// SPDX-License-Identifier: Apache-2.0
// A million threads over the lifetime of the program.
// long: a minute of creating threads
#include "turns.h"

int counter;

static void* body(void* argument) {
  counter++;
  return argument;
}

int main(void) {
  for (int i = 0; i < 1000000; i++) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, body, NULL) != 0) abort();
    pthread_join(thread, NULL);
  }
  return counter == 1000000 ? 0 : 1;
}
