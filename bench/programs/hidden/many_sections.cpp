// SPDX-License-Identifier: Apache-2.0
// The later thread takes the mutex three times before its access. To show the race all
// three must come before the first thread's: reversing one hand-over is not enough.
#include <mutex>

#include "hidden.h"

std::mutex mutex;
int counted;
int score;

[[gnu::noinline]] void count() {
  const std::lock_guard guard(mutex);
  ++counted;
}

void win() {
  score = 1;  // race many_sections
  late_if_reversed();
  count();
}

void lose() {
  usually_late();
  for (int times = 0; times < 3; ++times) count();
  score = 0;  // race many_sections
}

int main() { run_together(win, lose); }
