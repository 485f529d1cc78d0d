// SPDX-License-Identifier: Apache-2.0
// std::atomic_ref over an ordinary variable.
#include <atomic>

#include "turns.h"

int plain;
int data;

static void first() {
  data = 1;
  std::atomic_ref(plain).store(1, std::memory_order_release);
}

static void second() {
  use(std::atomic_ref(plain).load(std::memory_order_acquire));
  use(data);
}

int main() {
  in_turn(first, second);
  return plain == 1 ? 0 : 1;
}
