// SPDX-License-Identifier: Apache-2.0
// Locks with a deadline of 200 ms, which the program alone is far from missing: the holder
// has them for a few milliseconds, and takes another lock meanwhile. No order of the locks
// may make the deadline pass.
#include <chrono>
#include <cstdio>
#include <mutex>

#include "../hidden/hidden.h"

using namespace std::chrono_literals;

std::timed_mutex standard;
pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
std::mutex inner;
int held;
int got;

void add(int& number) {
  const std::lock_guard guard(inner);
  ++number;
}

void hold() {
  for (int times = 0; times < 3; ++times) {
    const std::lock_guard guard(standard);
    add(held);
    spend(2);
    pthread_mutex_lock(&plain);
    add(held);
    pthread_mutex_unlock(&plain);
  }
}

void hurry() {
  for (int times = 0; times < 3; ++times) {
    spend(1);
    if (standard.try_lock_for(200ms)) {
      add(got);
      standard.unlock();
    }
    timespec deadline;
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_nsec += 200'000'000;
    if (deadline.tv_nsec >= 1'000'000'000) {
      deadline.tv_nsec -= 1'000'000'000;
      ++deadline.tv_sec;
    }
    if (pthread_mutex_timedlock(&plain, &deadline) == 0) {
      add(got);
      pthread_mutex_unlock(&plain);
    }
  }
}

int main() {
  run_together(hold, hurry);
  std::printf("held %d, got %d\n", held, got);
}
