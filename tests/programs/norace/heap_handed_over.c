// SPDX-License-Identifier: Apache-2.0
// One thread allocates and fills, another reads and frees, with a lock between.
#include "turns.h"

#define COUNT 200

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int* box;

static int* exchange(int* block) {
  pthread_mutex_lock(&lock);
  int* old = box;
  box = block;
  pthread_mutex_unlock(&lock);
  return old;
}

static void body(int index) {
  for (int i = 0; i < COUNT; i++) {
    int* block = malloc(1000);
    for (int k = 0; k < 250; k += 10) block[k] = index;
    int* old = exchange(block);
    if (old != NULL) use(old[opaque(100)]);
    free(old);
  }
}

int main(void) {
  at_once(4, body);
  free(box);
  return 0;
}
