// SPDX-License-Identifier: Apache-2.0
// Two threads take two mutexes in opposite orders, the second when the first has long
// finished. When it comes earlier, each has what the other one wants.
#include <mutex>

#include "../hidden/hidden.h"

std::mutex from;
std::mutex to;
int moved;

void move_there() {
  const std::lock_guard first(from);
  late_if_reversed();
  const std::lock_guard second(to);
  ++moved;
}

void move_back() {
  usually_late(12);
  late_if_reversed(2);
  const std::lock_guard first(to);
  const std::lock_guard second(from);
  --moved;
}

int main() { run_together(move_there, move_back); }
