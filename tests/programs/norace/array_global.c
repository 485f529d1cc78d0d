// SPDX-License-Identifier: Apache-2.0
// Large global variables: rows written by one thread each, all read by all after a
// lock; a counter between them that is protected by it.
#include "turns.h"

enum { kColumns = 1 << 14, kThreads = 3, kRounds = 4 };

static double rows[kThreads][kColumns];
static int done;
static double sums[kThreads];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void body(int thread) {
  int round, column, row;
  for (round = 0; round < kRounds; round++) {
    for (column = 0; column < kColumns; column++) rows[thread][column] += column;
  }
  pthread_mutex_lock(&lock);
  done++;
  pthread_mutex_unlock(&lock);
  for (;;) {
    int all;
    pthread_mutex_lock(&lock);
    all = done;
    pthread_mutex_unlock(&lock);
    if (all == kThreads) break;
    sched_yield();
  }
  for (row = 0; row < kThreads; row++) {
    for (column = kColumns - 1; column >= 0; column -= 3) sums[thread] += rows[row][column];
  }
}

int main(void) {
  at_once(kThreads, body);
  return 0;
}
