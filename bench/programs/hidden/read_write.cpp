// SPDX-License-Identifier: Apache-2.0
// One thread reads `limit`, another changes it; neither has a lock. They meet at the mutex
// of a counter, the reader first.
#include <mutex>

#include "hidden.h"

std::mutex mutex;
int counted;
int limit = 10;

void look() {
  use(limit);  // race read_write
  late_if_reversed();
  const std::lock_guard guard(mutex);
  ++counted;
}

void change() {
  usually_late();
  mutex.lock();
  ++counted;
  mutex.unlock();
  limit = 20;  // race read_write
}

int main() { run_together(look, change); }
