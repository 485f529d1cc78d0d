// SPDX-License-Identifier: Apache-2.0
// Three threads in a ring of semaphores: each may print when the one before it has. All of
// them also take the lock of a counter, outside of their turn.
#include <semaphore.h>
#include <cstdio>
#include <mutex>

#include "../hidden/hidden.h"

constexpr int kThreads = 3;

sem_t turns[kThreads];
std::mutex mutex;
int counted;

void count() {
  const std::lock_guard guard(mutex);
  ++counted;
}

void work(int self) {
  for (int round = 0; round < 5; ++round) {
    count();
    while (sem_wait(&turns[self]) != 0) {
    }
    std::printf("round %d, thread %d\n", round, self);
    sem_post(&turns[(self + 1) % kThreads]);
    count();
  }
}

int main() {
  for (int at = 0; at < kThreads; ++at) sem_init(&turns[at], 0, at == 0 ? 1 : 0);
  run_together([] { work(0); }, [] { work(1); }, [] { work(2); });
  std::printf("counted %d\n", counted);
}
