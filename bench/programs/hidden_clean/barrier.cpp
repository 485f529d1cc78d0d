// SPDX-License-Identifier: Apache-2.0
// Four threads in phases, with a barrier between them. In each phase a thread adds what
// its neighbour had in the phase before, and counts under a lock.
#include <cstdio>
#include <mutex>

#include "../hidden/hidden.h"

constexpr int kThreads = 4;

pthread_barrier_t barrier;
std::mutex mutex;
int counted;
int values[2][kThreads] = {{1, 2, 3, 4}, {}};

void work(int self) {
  for (int phase = 0; phase < 6; ++phase) {
    if (self == 0) spend(1);
    const int* const before = values[phase % 2];
    values[(phase + 1) % 2][self] = before[self] + before[(self + 1) % kThreads];
    {
      const std::lock_guard guard(mutex);
      ++counted;
    }
    pthread_barrier_wait(&barrier);
  }
}

int main() {
  pthread_barrier_init(&barrier, nullptr, kThreads);
  run_together([] { work(0); }, [] { work(1); }, [] { work(2); }, [] { work(3); });
  for (const int value : values[0]) std::printf("%d ", value);
  std::printf("counted %d\n", counted);
}
