// SPDX-License-Identifier: Apache-2.0
// Functions that the cold-code sampler does not look at any more hand on order all the
// same: locks, atomics, and memory that is freed and comes again.
// options: sampler=cold
// record: no (a sampler has no trace)
#include "turns.h"

int by_lock;
int by_atomic;
int flag;
int* block;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static void lock_and_unlock(void) {
  pthread_mutex_lock(&lock);
  pthread_mutex_unlock(&lock);
}
__attribute__((noinline)) static void publish(int value) { __atomic_store_n(&flag, value, __ATOMIC_RELEASE); }
__attribute__((noinline)) static int look(void) { return __atomic_load_n(&flag, __ATOMIC_ACQUIRE); }
__attribute__((noinline)) static void take_and_give_back(void) {
  pthread_mutex_lock(&lock);
  free(block);
  block = (int*)malloc(64);
  pthread_mutex_unlock(&lock);
}

static void warm_up(void) {
  int i;
  for (i = 0; i < 5000; i++) {
    lock_and_unlock();
    take_and_give_back();
    use(look());
  }
}

static void first(void) {
  int i;
  warm_up();
  for (i = 0; i < 5000; i++) publish(0);
  block[3] = 1;
  by_lock = 1;
  lock_and_unlock();
  by_atomic = 1;
  publish(1);
}

static void second(void) {
  warm_up();
  by_lock++;
  block[3] = 2;
  while (look() != 1) {
  }
  by_atomic++;
}

int main(void) {
  block = (int*)malloc(64);
  in_turn(first, second);
  return by_lock == 2 && by_atomic == 2 ? 0 : 1;
}
