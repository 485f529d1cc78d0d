// SPDX-License-Identifier: Apache-2.0
// Eight threads on the same words in phases: a byte each, all by one, read by all
// in all sizes. Entries multiply and collapse in every round; a barrier is
// between any two that conflict.
#include "turns.h"

enum { kThreads = 8, kWords = 64, kRounds = 60 };

long words[kWords];
pthread_barrier_t barrier;
long sums[kThreads];

static void body(int index) {
  for (int round = 0; round < kRounds; round++) {
    for (int i = 0; i < kWords; i++) ((char*)&words[i])[index] = (char)round;
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < kWords; i++) {
      char* at = (char*)&words[i];
      sums[index] += words[i] + *(int*)(at + 4) + *(short*)(at + 2) + at[index];
    }
    pthread_barrier_wait(&barrier);
    if (round % kThreads == index) {
      for (int i = 0; i < kWords; i++) words[i] = i;
    }
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < kWords; i++) sums[index] += ((int*)&words[i])[index % 2];
    pthread_barrier_wait(&barrier);
  }
}

int main(void) {
  pthread_barrier_init(&barrier, NULL, kThreads);
  at_once(kThreads, body);
  for (int i = 2; i < kThreads; i += 2) {
    if (sums[i] - sums[0] > (long)kRounds * 64 * 256 * 256) return 1;
  }
  return 0;
}
