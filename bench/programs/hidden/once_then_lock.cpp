// SPDX-License-Identifier: Apache-2.0
// Both threads initialise by std::call_once and then take the mutex. The former orders
// only what is before it; the race is behind it, and hidden by the latter.
#include <mutex>

#include "hidden.h"

std::once_flag once;
std::mutex mutex;
int base;
int counted;
int phase;

void initialise() { base = 10; }

[[gnu::noinline]] void count() {
  const std::lock_guard guard(mutex);
  counted += base;
}

void begin() {
  std::call_once(once, initialise);
  phase = 1;  // race once_then_lock
  late_if_reversed();
  count();
}

void proceed() {
  std::call_once(once, initialise);
  usually_late();
  count();
  phase = 2;  // race once_then_lock
}

int main() { run_together(begin, proceed); }
