// SPDX-License-Identifier: Apache-2.0
// The plainest lock.
#include "turns.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int counter;

static void body(int index) {
  for (int i = 0; i < 1000; i++) {
    pthread_mutex_lock(&lock);
    counter++;
    pthread_mutex_unlock(&lock);
  }
  use(index);
}

int main(void) {
  at_once(4, body);
  return counter == 4000 ? 0 : 1;
}
