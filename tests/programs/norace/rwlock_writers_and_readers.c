// SPDX-License-Identifier: Apache-2.0
// Writers exclude all, readers only writers.
#include "turns.h"

pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
int shared;

static void body(int index) {
  for (int i = 0; i < 300; i++) {
    if (index == 0) {
      pthread_rwlock_wrlock(&lock);
      shared++;
    } else {
      pthread_rwlock_rdlock(&lock);
      use(shared);
    }
    pthread_rwlock_unlock(&lock);
  }
}

int main(void) {
  at_once(5, body);
  return shared == 300 ? 0 : 1;
}
