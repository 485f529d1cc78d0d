// SPDX-License-Identifier: Apache-2.0
// Locks that live and die with their objects, at addresses that come again.
#include "turns.h"

struct Object {
  pthread_mutex_t lock;
  int value;
};

static void body(int index) {
  for (int i = 0; i < 500; i++) {
    struct Object* object = malloc(sizeof *object);
    pthread_mutex_init(&object->lock, NULL);
    pthread_mutex_lock(&object->lock);
    object->value = index;
    pthread_mutex_unlock(&object->lock);
    if (i % 2 == 0) pthread_mutex_destroy(&object->lock);
    free(object);
  }
}

int main(void) {
  at_once(4, body);
  return 0;
}
