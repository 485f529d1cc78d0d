// SPDX-License-Identifier: Apache-2.0
// The later thread tries the mutex, and waits for it only if it is taken. As the earlier
// one has long given it back the attempt succeeds, and is a hand-over all the same.
#include <mutex>

#include "hidden.h"

std::mutex mutex;
int counted;
int busy;
int mode;

void set_mode() {
  mode = 1;  // race try_lock_fallback
  late_if_reversed();
  const std::lock_guard guard(mutex);
  ++counted;
}

[[gnu::noinline]] void count_politely() {
  if (!mutex.try_lock()) {
    mutex.lock();
    ++busy;
  }
  ++counted;
  mutex.unlock();
}

void change_mode() {
  usually_late();
  count_politely();
  mode = 2;  // race try_lock_fallback
}

int main() { run_together(set_mode, change_mode); }
