// SPDX-License-Identifier: Apache-2.0
// Figure 2 of the paper: three threads, seven locks, and two races that are hidden by one
// hand-over each. The first thread hands m to the third and n to the second.
#include <mutex>

#include "hidden.h"

std::mutex m;
std::mutex n;
std::mutex own[5];
int taken[7];
int x;
int y;

[[gnu::noinline]] void take(std::mutex& mutex, int& count) {
  const std::lock_guard guard(mutex);
  ++count;
}

void first() {
  x = 1;  // race two_edges_x
  late_if_reversed();
  take(m, taken[0]);
  take(own[0], taken[2]);
  y = 1;  // race two_edges_y
  late_if_reversed();
  take(n, taken[1]);
}

void second() {
  usually_late(8);
  take(own[1], taken[3]);
  take(own[2], taken[4]);
  take(n, taken[1]);
  y = 2;  // race two_edges_y
}

void third() {
  usually_late(8);
  take(own[3], taken[5]);
  take(own[4], taken[6]);
  take(m, taken[0]);
  x = 2;  // race two_edges_x
}

int main() { run_together(first, second, third); }
