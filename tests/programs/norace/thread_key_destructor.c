// SPDX-License-Identifier: Apache-2.0
// Destructors of threads' values end before the join does.
#include "turns.h"

int shared;
pthread_key_t keys[3];

static void destroy(void* value) {
  ++*(int*)value;
  free(value);
  shared++;
}

static void* owner(void* argument) {
  for (int i = 0; i < 3; i++) {
    int* value = malloc(sizeof *value);
    *value = i;
    pthread_setspecific(keys[i], value);
  }
  return argument;
}

int main(void) {
  for (int i = 0; i < 3; i++) pthread_key_create(&keys[i], destroy);
  for (int i = 0; i < 10; i++) {
    pthread_t thread;
    pthread_create(&thread, NULL, owner, NULL);
    pthread_join(thread, NULL);
  }
  return shared == 30 ? 0 : 1;
}
