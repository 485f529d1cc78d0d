// SPDX-License-Identifier: Apache-2.0
// A parent's stack frame, changed by its children in turn.
#include "turns.h"

static void* add(void* argument) {
  ++*(int*)argument;
  return NULL;
}

int main(void) {
  int local = 0;
  for (int i = 0; i < 10; i++) {
    pthread_t thread;
    local++;
    pthread_create(&thread, NULL, add, &local);
    pthread_join(thread, NULL);
    local++;
  }
  return local == 30 ? 0 : 1;
}
