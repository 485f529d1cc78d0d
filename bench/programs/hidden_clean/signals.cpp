// SPDX-License-Identifier: Apache-2.0
// A handler counts signals that main sends to a thread, one after the other, while that
// thread and another take locks. A thread that is held back must handle them all the same.
#include <sched.h>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <mutex>

#include "../hidden/hidden.h"

std::mutex mutex;
long counted;
std::atomic<int> handled;
std::atomic<bool> is_over;

void handle(int) { handled.fetch_add(1); }

[[gnu::noinline]] void count() {
  const std::lock_guard guard(mutex);
  ++counted;
}

void target() {
  for (int times = 0; times < 100; ++times) count();
  while (!is_over.load()) sched_yield();
}

void other() {
  spend(2);
  for (int times = 0; times < 100; ++times) count();
}

int main() {
  struct sigaction action = {};
  action.sa_handler = handle;
  sigaction(SIGUSR1, &action, nullptr);
  std::thread first(target);
  std::thread second(other);
  for (int number = 1; number <= 20; ++number) {
    pthread_kill(first.native_handle(), SIGUSR1);
    while (handled.load() < number) sched_yield();
  }
  is_over.store(true);
  first.join();
  second.join();
  std::printf("%d signals, %ld counted\n", handled.load(), counted);
}
