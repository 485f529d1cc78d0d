// SPDX-License-Identifier: Apache-2.0
// What is written after counting down is not waited for.
#include <latch>

#include "turns.h"

std::latch latch(1);
int before;
int after;

static void first() {
  before = 1;
  latch.count_down();
  after = 1;  // race
}

static void second() {
  latch.wait();
  use(before);
  use(after);  // race
}

int main() { in_turn(first, second); }
