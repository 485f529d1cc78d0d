// SPDX-License-Identifier: Apache-2.0
// A table with a lock for each group of its places. The threads use different places of
// one group, and the lock of the group hides the race on the size of the table.
#include <cstddef>
#include <mutex>

#include "hidden.h"

constexpr std::size_t kGroups = 8;

std::mutex locks[kGroups];
int places[64];
int size;

[[gnu::noinline]] void put(std::size_t place, int value) {
  const std::lock_guard guard(locks[place % kGroups]);
  places[place] = value;
}

void insert() {
  put(1, 1);
  put(2, 1);
  size = 1;  // race striped_locks
  late_if_reversed();
  put(3, 1);
}

void insert_more() {
  put(12, 2);
  usually_late();
  put(11, 2);
  size = 2;  // race striped_locks
}

int main() { run_together(insert, insert_more); }
