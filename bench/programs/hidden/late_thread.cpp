// SPDX-License-Identifier: Apache-2.0
// The second thread does not exist yet when the first one asks for the lock: main is busy
// before it creates it.
#include <mutex>

#include "hidden.h"

std::mutex mutex;
int counted;
int owner;

[[gnu::noinline]] void count() {
  const std::lock_guard guard(mutex);
  ++counted;
}

void early() {
  owner = 1;  // race late_thread
  late_if_reversed();
  count();
}

void late() {
  count();
  owner = 2;  // race late_thread
}

int main() {
  std::thread first(early);
  usually_late();
  std::thread second(late);
  first.join();
  second.join();
}
