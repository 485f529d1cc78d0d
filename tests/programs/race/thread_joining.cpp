// SPDX-License-Identifier: Apache-2.0
// std::jthread joins at the end of its scope, not before.
#include <thread>

#include "order.h"

int shared;

int main() {
  std::jthread thread([] {
    shared = 1;  // race
    order_reach(1);
  });
  order_await(1);
  shared = 2;  // race
}
