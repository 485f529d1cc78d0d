// SPDX-License-Identifier: Apache-2.0
// A stop callback runs in the thread that asks for the stop.
#include <stop_token>
#include <thread>

#include "order.h"

int main() {
  int data = 0;
  int seen = 0;
  {
    std::jthread thread([&](std::stop_token token) {
      data = 1;
      std::stop_callback callback(token, [&] { seen = data; });
      order_reach(1);
      order_await(2);
    });
    order_await(1);
    thread.request_stop();
    order_reach(2);
  }
  return seen == 1 ? 0 : 1;
}
