// SPDX-License-Identifier: Apache-2.0
// A thread waits until somebody has arrived. That is true long before it asks, because two
// others have arrived; one of them has written `plan` before, and nobody waits for that
// one.
#include <condition_variable>
#include <mutex>

#include "hidden.h"

std::mutex mutex;
std::condition_variable arrival;
int arrived;
int plan;

[[gnu::noinline]] void arrive() {
  const std::lock_guard guard(mutex);
  ++arrived;
  arrival.notify_all();
}

void planner() {
  plan = 1;  // race condition_already_true
  late_if_reversed();
  arrive();
}

void visitor() { arrive(); }

void host() {
  usually_late(8);
  {
    std::unique_lock guard(mutex);
    arrival.wait(guard, [] { return arrived > 0; });
  }
  plan = 2;  // race condition_already_true
}

int main() { run_together(planner, visitor, host); }
