// SPDX-License-Identifier: Apache-2.0
// While the earlier thread asks for the lock, the later one is in a function that takes no
// lock; the one that does is called after it, by the same caller. What is known of the
// function alone predicts nothing.
#include <mutex>

#include "hidden.h"

std::mutex mutex;
int counted;
int colour;

[[gnu::noinline]] void prepare() {
  usually_late();
  use(0);
}

[[gnu::noinline]] void count() {
  const std::lock_guard guard(mutex);
  ++counted;
}

void paint() {
  colour = 1;  // race delay_elsewhere
  late_if_reversed();
  count();
}

void paint_over() {
  prepare();
  count();
  colour = 2;  // race delay_elsewhere
}

int main() { run_together(paint, paint_over); }
