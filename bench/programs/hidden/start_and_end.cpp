// SPDX-License-Identifier: Apache-2.0
// One access is the first thing that a thread does, the other the last thing of another
// thread. Of the locks between them a single one is taken by both.
#include <mutex>

#include "hidden.h"

std::mutex shared_mutex;
std::mutex first_mutex;
std::mutex second_mutex;
int shared;
int first_own;
int second_own;
int state;

void add(std::mutex& mutex, int& number) {
  const std::lock_guard guard(mutex);
  ++number;
}

void begin() {
  state = 1;  // race start_and_end
  add(first_mutex, first_own);
  late_if_reversed();
  add(shared_mutex, shared);
  add(first_mutex, first_own);
}

void finish() {
  add(second_mutex, second_own);
  usually_late();
  add(shared_mutex, shared);
  add(second_mutex, second_own);
  state = 2;  // race start_and_end
}

int main() { run_together(begin, finish); }
