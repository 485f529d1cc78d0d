// SPDX-License-Identifier: Apache-2.0
// A structure that is handed over by value is a copy: what becomes of it is nobody's
// business, and what lies beside it is not read.
// levels: -O0 -O1 -O2 -O3
#include "turns.h"

struct Big {
  long numbers[4];
};
struct Big array[3];
struct Big mine;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static __attribute__((noinline)) long change(struct Big big) {
  big.numbers[1] += 1;
  use(big.numbers[1]);
  return big.numbers[1];
}

static __attribute__((noinline)) struct Big make(struct Big big) {
  big.numbers[0] = 4;
  return big;
}

static void first(void) {
  struct Big local = {{1, 2, 3, 4}};
  use(change(array[1]));
  array[1] = make(array[1]);
  use(change(local));
  pthread_mutex_lock(&mutex);
  use(change(mine));
  pthread_mutex_unlock(&mutex);
}

static void second(void) {
  array[0].numbers[3] = 1;
  array[2].numbers[0] = 1;
  pthread_mutex_lock(&mutex);
  mine = make(mine);
  pthread_mutex_unlock(&mutex);
}

int main(void) {
  in_turn(first, second);
  return array[1].numbers[0] != 4 || mine.numbers[0] != 4;
}
