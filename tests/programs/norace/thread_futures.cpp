// SPDX-License-Identifier: Apache-2.0
// Promise, packaged task, async, shared future.
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "order.h"

int main() {
  std::promise<std::string> promise;
  std::future<std::string> text = promise.get_future();
  std::thread keeper([&] { promise.set_value("a long text that does not fit into the object itself"); });
  if (text.get().size() != 52) return 1;
  keeper.join();

  int data = 0;
  std::packaged_task<int(int)> task([&](int by) { return data += by; });
  std::future<int> sum = task.get_future();
  std::thread worker(std::move(task), 5);
  if (sum.get() != 5 || data != 5) return 1;
  worker.join();

  std::future<int> later = std::async(std::launch::async, [&] { return ++data; });
  if (later.get() != 6 || data != 6) return 1;

  std::promise<int*> pointer;
  std::shared_future<int*> all = pointer.get_future().share();
  std::vector<std::future<int>> readers;
  for (int i = 0; i < 4; i++) readers.push_back(std::async(std::launch::async, [all] { return *all.get(); }));
  data = 42;
  pointer.set_value(&data);
  for (std::future<int>& reader : readers) {
    if (reader.get() != 42) return 1;
  }
  return 0;
}
