// SPDX-License-Identifier: Apache-2.0
// The mutex is taken twice by the same thread, one call inside the other; it is handed
// over when it is released for the second time.
#include <mutex>

#include "hidden.h"

std::recursive_mutex mutex;
int entries;
int root;

[[gnu::noinline]] void insert_one() {
  const std::lock_guard guard(mutex);
  ++entries;
}

[[gnu::noinline]] void insert_two() {
  const std::lock_guard guard(mutex);
  insert_one();
  insert_one();
}

void grow() {
  root = 1;  // race recursive_mutex
  late_if_reversed();
  insert_two();
}

void shrink() {
  usually_late();
  insert_two();
  root = 2;  // race recursive_mutex
}

int main() { run_together(grow, shrink); }
