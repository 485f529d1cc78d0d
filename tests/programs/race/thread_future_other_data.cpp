// SPDX-License-Identifier: Apache-2.0
// The promise hands over what was written before it was kept, no more.
#include <future>
#include <thread>

#include "order.h"

int before;
int after;

int main() {
  std::promise<int> promise;
  std::future<int> future = promise.get_future();
  std::thread thread([&] {
    before = 1;
    promise.set_value(1);
    after = 1;  // race
    order_reach(1);
  });
  use(future.get());
  use(before);
  order_await(1);
  use(after);  // race
  thread.join();
}
