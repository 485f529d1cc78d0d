// SPDX-License-Identifier: Apache-2.0
// Figure 2 of the paper without its races: what the hand-overs ordered by accident has
// locks of its own.
#include <cstdio>
#include <mutex>

#include "../hidden/hidden.h"

struct Guarded {
  std::mutex mutex;
  int value = 0;

  void add(int amount) {
    const std::lock_guard guard(mutex);
    value += amount;
  }
};

Guarded m;
Guarded n;
Guarded own[5];
Guarded x;
Guarded y;

void first() {
  x.add(1);
  m.add(1);
  own[0].add(1);
  y.add(1);
  n.add(1);
}

void second() {
  usually_late();
  own[1].add(1);
  own[2].add(1);
  n.add(1);
  y.add(2);
}

void third() {
  usually_late();
  own[3].add(1);
  own[4].add(1);
  m.add(1);
  x.add(2);
}

int main() {
  run_together(first, second, third);
  std::printf("x %d, y %d, m %d, n %d\n", x.value, y.value, m.value, n.value);
}
