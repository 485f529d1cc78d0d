// SPDX-License-Identifier: Apache-2.0
// A barrier used many times, threads taking turns between.
#include "turns.h"

#define COUNT 4
pthread_barrier_t barrier;
int numbers[COUNT];
int serial;

static void body(int index) {
  for (int phase = 0; phase < 50; phase++) {
    numbers[(index + phase) % COUNT]++;
    if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) serial++;
  }
}

int main(void) {
  pthread_barrier_init(&barrier, NULL, COUNT);
  at_once(COUNT, body);
  pthread_barrier_destroy(&barrier);
  return numbers[0] == 50 && serial == 50 ? 0 : 1;
}
