// SPDX-License-Identifier: Apache-2.0
// Condition variables with timeouts: one that is signalled while the waiter wakes up again
// and again, one that nobody signals and that must time out, and one with a deadline that
// must not be missed.
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>

#include "../hidden/hidden.h"

using namespace std::chrono_literals;

std::mutex mutex;
std::condition_variable changed;
int step;

void advance(int to) {
  const std::lock_guard guard(mutex);
  step = to;
  changed.notify_all();
}

void signaller() {
  usually_late();
  advance(1);
  spend(2);
  advance(2);
}

void waiter() {
  std::unique_lock guard(mutex);
  while (step < 1) changed.wait_for(guard, 1ms);
  const bool is_in_time = changed.wait_for(guard, 200ms, [] { return step == 2; });
  const bool is_late = !changed.wait_for(guard, 2ms, [] { return step == 3; });
  std::printf("step %d, %s, %s\n", step, is_in_time ? "in time" : "missed", is_late ? "timed out" : "signalled");
}

int main() { run_together(signaller, waiter); }
