// SPDX-License-Identifier: Apache-2.0
// std::atomic::wait and notify.
#include <atomic>

#include "turns.h"

std::atomic<int> stage{0};
int data;

static void body(int index) {
  if (index == 0) {
    data = 42;
    stage.store(1, std::memory_order_release);
    stage.notify_all();
  } else {
    stage.wait(0, std::memory_order_acquire);
    use(data);
  }
}

int main() { at_once(4, body); }
