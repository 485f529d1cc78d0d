// SPDX-License-Identifier: Apache-2.0
// The mutex is a static variable of a function. Its constructor is constexpr, so that no
// guard orders anything.
#include <mutex>

#include "hidden.h"

int number;
int user;

[[gnu::noinline]] int next_number() {
  static std::mutex mutex;
  const std::lock_guard guard(mutex);
  return ++number;
}

void log_in() {
  user = 1;  // race static_local_mutex
  late_if_reversed();
  use(next_number());
}

void log_out() {
  usually_late();
  use(next_number());
  user = 0;  // race static_local_mutex
}

int main() { run_together(log_in, log_out); }
