// SPDX-License-Identifier: Apache-2.0
// A thread waits for a condition that either of two others can make true. The quick one
// always does, and has written `result` before; when the slow one comes first the result
// is read while it is written.
#include <condition_variable>
#include <mutex>

#include "hidden.h"

std::mutex mutex;
std::condition_variable condition;
bool ready;
int result;

[[gnu::noinline]] void signal_ready() {
  const std::lock_guard guard(mutex);
  ready = true;
  condition.notify_one();
}

void quick() {
  result = 1;  // race condition_two_signallers
  late_if_reversed();
  signal_ready();
}

void slow() {
  usually_late(8);
  signal_ready();
}

void wait_for_either() {
  {
    std::unique_lock guard(mutex);
    condition.wait(guard, [] { return ready; });
  }
  use(result);  // race condition_two_signallers
}

int main() { run_together(quick, slow, wait_for_either); }
