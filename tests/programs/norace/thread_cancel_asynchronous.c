// SPDX-License-Identifier: Apache-2.0
// Threads that may be cancelled at any moment, and are: mostly inside the runtime, as they
// do little but accesses and atomic operations. The things they leave behind must not stop others.
#include "turns.h"

#include <stdatomic.h>
#include <string.h>

enum { kWords = 512, kRounds = 60 };

static atomic_long counters[kWords];
static long own[64];

static void work_a_little(int begin) {
  for (int i = 0; i < kWords; i++) atomic_fetch_add(&counters[(begin + i) % kWords], 1);
}

static void* work_for_ever(void* place) {
  int before = -1;
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &before);
  if (before != PTHREAD_CANCEL_DEFERRED) abort();
  order_reach_at((int*)place, 1);
  for (int i = 0;; i++) {
    work_a_little(i);
    memset(own, i, opaque(sizeof own));
  }
  return NULL;
}

static void cancel_one(void) {
  static int begun;
  pthread_t thread;
  void* result;
  order_store(&begun, 0);
  if (pthread_create(&thread, NULL, work_for_ever, &begun) != 0) abort();
  order_await_at(&begun, 1);
  work_a_little(7);
  pthread_cancel(thread);
  pthread_join(thread, &result);
  if (result != PTHREAD_CANCELED) abort();
  work_a_little(3);
}

// Its type is asynchronous before it is cancelled, and its state decides when.
static void* wait_until_enabled(void* place) {
  int type = -1;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
  pthread_cancel(pthread_self());
  pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
  if (type != PTHREAD_CANCEL_ASYNCHRONOUS) abort();
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
  order_reach_at((int*)place, 1);
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
  order_reach_at((int*)place, 2);
  return NULL;
}

int main(void) {
  static int reached;
  pthread_t thread;
  void* result;
  for (int i = 0; i < kRounds; i++) cancel_one();
  if (pthread_create(&thread, NULL, wait_until_enabled, &reached) != 0) abort();
  pthread_join(thread, &result);
  return result == PTHREAD_CANCELED && order_load(&reached) == 1 ? 0 : 1;
}
