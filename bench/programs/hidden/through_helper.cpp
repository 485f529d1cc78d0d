// SPDX-License-Identifier: Apache-2.0
// Lock and access are both in functions that the threads call, two calls down. The lock
// protects the counter of the helper, and hides the race on the value that is handed back.
#include <mutex>

#include "hidden.h"

std::mutex mutex;
int calls;
long cached;

[[gnu::noinline]] void count_call() {
  const std::lock_guard guard(mutex);
  ++calls;
}

[[gnu::noinline]] void check_in() { count_call(); }

[[gnu::noinline]] void store(long value) {
  cached = value;  // race through_helper
}

[[gnu::noinline]] long load() {
  return cached;  // race through_helper
}

void produce() {
  store(42);
  late_if_reversed();
  check_in();
}

void consume() {
  usually_late();
  check_in();
  use(load());
}

int main() { run_together(produce, consume); }
