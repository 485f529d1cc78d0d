// SPDX-License-Identifier: Apache-2.0
// One race among much that is none: `watch_seeded MICROSECONDS SECONDS`. Each of four threads works on data of its own
// and on locked data, takes a lock after so many microseconds (0: hardly ever), and about every 100 microseconds
// touches what it should not. Which race it is, RACE says when it is compiled: 1 a counter, 2 a flag, 3 a member of a
// structure on the heap.
#include <pthread.h>
#include <time.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#ifndef RACE
#define RACE 1
#endif

namespace {

std::uint64_t now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

struct Account {
  std::uint64_t other;
  std::uint64_t balance;
};

std::uint64_t counter = 0;
bool is_ready = false;
Account* account = new Account{};
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
std::uint64_t locked = 0;
std::uint64_t pause_ns = 0;
std::uint64_t end_ns = 0;

__attribute__((noinline)) void race(std::uint64_t number) {
#if RACE == 1
  counter += number;
#elif RACE == 2
  if (!is_ready || number % 3 == 0) is_ready = number % 2 == 0;
#else
  account->balance += number;
#endif
}

void* work(void* argument) {
  auto* const own = static_cast<std::uint64_t*>(argument);
  std::uint64_t next_lock = 0;
  std::uint64_t next_race = 0;
  for (std::uint64_t time = now(); time < end_ns; time = now()) {
    for (int at = 0; at < 200; ++at) own[at % 64] = own[at % 64] * 31 + time;
    if (pause_ns != 0 && time >= next_lock) {
      pthread_mutex_lock(&mutex);
      ++locked;
      pthread_mutex_unlock(&mutex);
      next_lock = time + pause_ns;
    }
    if (time >= next_race) {
      race(time);
      next_race = time + 100'000;
    }
  }
  return nullptr;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  pause_ns = std::strtoull(arguments[1], nullptr, 10) * 1000;
  end_ns = now() + static_cast<std::uint64_t>(std::atof(arguments[2]) * 1e9);
  static std::uint64_t own[4][64];
  pthread_t threads[4];
  for (int at = 0; at < 4; ++at) pthread_create(&threads[at], nullptr, work, own[at]);
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
  std::puts("done");
  return 0;
}
