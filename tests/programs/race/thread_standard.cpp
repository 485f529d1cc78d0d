// SPDX-License-Identifier: Apache-2.0
// std::thread: what the creator does after starting it.
#include <thread>

#include "order.h"

int shared;

int main() {
  std::thread thread([] {
    order_await(1);
    shared = 2;  // race
  });
  shared = 1;  // race
  order_reach(1);
  thread.join();
}
