// SPDX-License-Identifier: Apache-2.0
// std::shared_timed_mutex in all its timed variants.
// tsan: false alarm (the clock variants of rwlocks are not intercepted)
#include <chrono>
#include <shared_mutex>

#include "turns.h"

std::shared_timed_mutex mutex;
int shared;

static void step() {
  using namespace std::chrono_literals;
  if (!mutex.try_lock_until(std::chrono::steady_clock::now() + 1h)) abort();
  shared++;
  mutex.unlock();
  if (!mutex.try_lock_for(1h)) abort();
  shared++;
  mutex.unlock();
  if (!mutex.try_lock_shared_until(std::chrono::steady_clock::now() + 1h)) abort();
  use(shared);
  mutex.unlock_shared();
  if (!mutex.try_lock_shared_for(1h)) abort();
  use(shared);
  mutex.unlock_shared();
}

int main() {
  in_turn_3(step, step, step);
  return shared == 6 ? 0 : 1;
}
