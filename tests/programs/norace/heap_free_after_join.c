// SPDX-License-Identifier: Apache-2.0
// The user is joined before the block goes.
#include "turns.h"

static void* fill(void* argument) {
  char* block = argument;
  for (int i = 0; i < 100000; i += 64) block[i] = 1;
  return NULL;
}

int main(void) {
  for (int round = 0; round < 10; round++) {
    char* block = malloc(100000);
    pthread_t thread;
    pthread_create(&thread, NULL, fill, block);
    pthread_join(thread, NULL);
    free(block);
  }
  return 0;
}
