// SPDX-License-Identifier: Apache-2.0
// A setting is stored without a lock and read without one. What the two threads have in
// common is the mutex of a list that both add to.
#include <mutex>
#include <vector>

#include "hidden.h"

std::mutex mutex;
std::vector<int> events;
int setting;

void note(int event) {
  const std::lock_guard guard(mutex);
  events.push_back(event);
}

void configure() {
  setting = 3;  // race write_read
  late_if_reversed();
  note(1);
}

void serve() {
  usually_late();
  note(2);
  use(setting);  // race write_read
}

int main() { run_together(configure, serve); }
