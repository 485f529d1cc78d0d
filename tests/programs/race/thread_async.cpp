// SPDX-License-Identifier: Apache-2.0
// The future is not waited for yet.
#include <future>

#include "order.h"

int shared;

int main() {
  std::future<void> result = std::async(std::launch::async, [] {
    shared = 1;  // race
    order_reach(1);
  });
  order_await(1);
  shared = 2;  // race
  result.get();
}
