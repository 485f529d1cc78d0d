// SPDX-License-Identifier: Apache-2.0
// As write_write, with a spinlock of the C library.
#include "hidden.h"

pthread_spinlock_t spinlock;
int counted;
int speed;

void count() {
  pthread_spin_lock(&spinlock);
  ++counted;
  pthread_spin_unlock(&spinlock);
}

void accelerate() {
  speed = 1;  // race spinlock
  late_if_reversed();
  count();
}

void brake() {
  usually_late();
  count();
  speed = 0;  // race spinlock
}

int main() {
  pthread_spin_init(&spinlock, PTHREAD_PROCESS_PRIVATE);
  run_together(accelerate, brake);
  pthread_spin_destroy(&spinlock);
}
