// SPDX-License-Identifier: Apache-2.0
// A cache behind std::shared_mutex: one thread fills it, the other looks into it later.
// The number of hits is not protected at all.
#include <mutex>
#include <shared_mutex>

#include "hidden.h"

std::shared_mutex mutex;
int cache;
int hits;

void fill() {
  hits = 0;  // race standard_shared_mutex
  late_if_reversed();
  const std::unique_lock guard(mutex);
  cache = 5;
}

[[gnu::noinline]] int find() {
  const std::shared_lock guard(mutex);
  return cache;
}

void look_up() {
  usually_late();
  use(find());
  hits = 1;  // race standard_shared_mutex
}

int main() { run_together(fill, look_up); }
