// SPDX-License-Identifier: Apache-2.0
// A wait is ordered after every post that came before it.
#include "turns.h"

#include <semaphore.h>

sem_t semaphore;
int data[2];

static void first(void) {
  data[0] = 1;
  sem_post(&semaphore);
}

static void second(void) {
  data[1] = 1;
  sem_post(&semaphore);
}

static void third(void) {
  sem_wait(&semaphore);
  sem_wait(&semaphore);
  use(data[0] + data[1]);
}

int main(void) {
  sem_init(&semaphore, 0, 0);
  in_turn_3(first, second, third);
  return 0;
}
