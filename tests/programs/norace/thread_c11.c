// SPDX-License-Identifier: Apache-2.0
// Threads, mutexes, conditions, once and thread-specific values of C11.
// tsan: crashes (C11 threads are not intercepted)
#include "order.h"

#include <stdlib.h>
#include <threads.h>
#include <time.h>

mtx_t lock;
mtx_t timed;
cnd_t condition;
once_flag once = ONCE_FLAG_INIT;
tss_t key;
int ready;
int counter;        // under lock
int timed_counter;  // under timed
int initialised;

static void initialise(void) { initialised = 42; }

static int body(void* argument) {
  struct timespec limit;
  call_once(&once, initialise);
  use(initialised);
  tss_set(key, malloc(8));
  mtx_lock(&lock);
  counter++;
  while (!ready) cnd_wait(&condition, &lock);
  mtx_unlock(&lock);
  timespec_get(&limit, TIME_UTC);
  limit.tv_sec += 3600;
  if (mtx_timedlock(&timed, &limit) != thrd_success) return 1;
  timed_counter++;
  mtx_unlock(&timed);
  while (mtx_trylock(&lock) != thrd_success) thrd_yield();
  mtx_unlock(&lock);
  return argument == NULL ? 5 : 0;
}

int main(void) {
  thrd_t threads[4];
  mtx_init(&lock, mtx_plain);
  mtx_init(&timed, mtx_timed);
  cnd_init(&condition);
  tss_create(&key, free);
  for (int i = 0; i < 4; i++) thrd_create(&threads[i], body, NULL);
  for (int i = 0; i < 4; i++) {
    mtx_lock(&lock);
    ready = 1;
    cnd_broadcast(&condition);
    mtx_unlock(&lock);
  }
  for (int i = 0; i < 4; i++) {
    int result = 0;
    thrd_join(threads[i], &result);
    if (result != 5) return 1;
  }
  return counter == 4 && timed_counter == 4 ? 0 : 1;
}
