// SPDX-License-Identifier: Apache-2.0
// std::thread with arguments, moved around, and std::jthread with a stop token.
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "order.h"

int main() {
  std::string text = "a long text that does not fit into the object itself";
  std::vector<std::thread> threads;
  std::vector<int> sizes(8);
  for (int i = 0; i < 8; i++) {
    threads.emplace_back([&sizes, i](std::string copy) { sizes[i] = static_cast<int>(copy.size()); }, text);
  }
  for (std::thread& thread : threads) thread.join();

  std::mutex mutex;
  std::condition_variable_any condition;
  int rounds = 0;
  {
    std::jthread waiter([&](std::stop_token token) {
      std::unique_lock lock(mutex);
      while (!token.stop_requested()) {
        condition.wait(lock, token, [] { return false; });
        rounds++;
      }
    });
  }
  return sizes[7] == static_cast<int>(text.size()) && rounds <= 1 ? 0 : 1;
}
