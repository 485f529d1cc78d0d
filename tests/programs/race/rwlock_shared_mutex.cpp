// SPDX-License-Identifier: Apache-2.0
// std::shared_mutex held by two readers, one of which writes.
#include <shared_mutex>

#include "turns.h"

std::shared_mutex mutex;
int shared;

static void first() {
  std::shared_lock lock(mutex);
  use(shared);  // race
}

static void second() {
  std::shared_lock lock(mutex);
  shared = 1;  // race
}

int main() { in_turn(first, second); }
