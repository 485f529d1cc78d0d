// SPDX-License-Identifier: Apache-2.0
// Two loops that count each step under the lock of the statistics. In the middle of each
// loop is an access to `mode`, with ten hand-overs around it.
#include <mutex>

#include "hidden.h"

struct Statistics {
  std::mutex mutex;
  long steps = 0;

  void count() {
    const std::lock_guard guard(mutex);
    ++steps;
  }
};

Statistics statistics;
int mode;

void quick_loop() {
  for (int step = 0; step < 10; ++step) {
    if (step == 5) {
      mode = 1;  // race statistics_counter
      late_if_reversed(8);
    }
    statistics.count();
  }
}

void slow_loop() {
  usually_late(8);
  late_if_reversed(2);  // the other is in the middle
  for (int step = 0; step < 10; ++step) {
    statistics.count();
    if (step == 5) {
      mode = 2;  // race statistics_counter
    }
  }
}

int main() { run_together(quick_loop, slow_loop); }
