// SPDX-License-Identifier: Apache-2.0
// pthread_spin_lock and trylock.
#include "turns.h"

#include <sched.h>

pthread_spinlock_t lock;
int counter;

static void body(int index) {
  for (int i = 0; i < 200; i++) {
    if (index % 2 == 0) {
      pthread_spin_lock(&lock);
    } else {
      while (pthread_spin_trylock(&lock) != 0) sched_yield();
    }
    counter++;
    pthread_spin_unlock(&lock);
  }
}

int main(void) {
  pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
  at_once(2, body);
  pthread_spin_destroy(&lock);
  return counter == 400 ? 0 : 1;
}
