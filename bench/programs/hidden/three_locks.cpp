// SPDX-License-Identifier: Apache-2.0
// The hand-overs of three mutexes order the two threads; the later one takes them in the
// other order, one after the other. All three must be reversed.
#include <mutex>

#include "hidden.h"

std::mutex mutexes[3];
int counted[3];
int route;

[[gnu::noinline]] void visit(int place) {
  const std::lock_guard guard(mutexes[place]);
  ++counted[place];
}

void go() {
  route = 1;  // race three_locks
  late_if_reversed();
  visit(0);
  visit(1);
  visit(2);
}

void come_back() {
  usually_late();
  visit(2);
  visit(1);
  visit(0);
  route = 2;  // race three_locks
}

int main() { run_together(go, come_back); }
