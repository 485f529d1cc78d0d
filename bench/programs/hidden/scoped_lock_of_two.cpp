// SPDX-License-Identifier: Apache-2.0
// Both threads take two mutexes at once, by std::scoped_lock: one is locked, the other
// tried. Both hand-overs hide the race.
#include <mutex>

#include "hidden.h"

std::mutex from_mutex;
std::mutex to_mutex;
int from = 100;
int to;
int transfers;

[[gnu::noinline]] void move_one() {
  const std::scoped_lock guard(from_mutex, to_mutex);
  --from;
  ++to;
}

void first_teller() {
  transfers = 1;  // race scoped_lock_of_two
  late_if_reversed();
  move_one();
}

void second_teller() {
  usually_late();
  move_one();
  transfers = 2;  // race scoped_lock_of_two
}

int main() { run_together(first_teller, second_teller); }
