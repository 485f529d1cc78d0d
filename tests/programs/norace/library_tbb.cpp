// SPDX-License-Identifier: Apache-2.0
// The order that oneTBB makes, and the parallel algorithms of the standard library, which are made of it.
// levels: -O2 (what the library does is the same)
// package: tbb
#include <algorithm>
#include <execution>
#include <functional>
#include <numeric>
#include <vector>

#include <oneapi/tbb/concurrent_queue.h>
#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/parallel_reduce.h>
#include <oneapi/tbb/spin_mutex.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

int main() {
  constexpr int kNumbers = 5000;
  std::vector<int> numbers(kNumbers);
  int factor = 1;
  for (int round = 0; round < 3; round++) {
    tbb::parallel_for(0, kNumbers, [&](int index) { numbers[index] = index * factor; });
    factor++;
    if (numbers[kNumbers - 1] != (kNumbers - 1) * (factor - 1)) return 1;
  }
  const long sum = tbb::parallel_reduce(
      tbb::blocked_range<int>(0, kNumbers), 0L,
      [&](const tbb::blocked_range<int>& range, long partial) {
        for (int index = range.begin(); index < range.end(); index++) partial += numbers[index];
        return partial;
      },
      std::plus<>());
  if (sum != 3L * kNumbers * (kNumbers - 1) / 2) return 2;

  int left = 0;
  int right = 0;
  tbb::task_group group;
  group.run([&] { left = factor; });
  group.run([&] { right = factor; });
  group.wait();
  if (left + right != 8) return 3;

  tbb::concurrent_queue<int*> queue;
  group.run([&] {
    for (int index = 0; index < 100; index++) queue.push(new int(index));
  });
  int received = 0;
  for (int count = 0; count < 100;) {
    int* number = nullptr;
    if (!queue.try_pop(number)) continue;
    received += *number;
    delete number;
    count++;
  }
  group.wait();
  if (received != 4950) return 4;

  tbb::spin_mutex mutex;
  int guarded = 0;
  tbb::parallel_for(0, 1000, [&](int) {
    const tbb::spin_mutex::scoped_lock lock(mutex);
    guarded++;
  });
  if (guarded != 1000) return 5;

  std::sort(std::execution::par, numbers.begin(), numbers.end(), std::greater<>());
  std::for_each(std::execution::par, numbers.begin(), numbers.end(), [](int& number) { number++; });
  if (std::reduce(std::execution::par, numbers.begin(), numbers.end(), 0L) != sum + kNumbers) return 6;

  tbb::flow::graph graph;
  tbb::flow::function_node<int, int> first(graph, 1, [&](int number) { return left = number; });
  tbb::flow::function_node<int, int> second(graph, 1, [&](int) { return right = left; });
  make_edge(first, second);
  first.try_put(5);
  graph.wait_for_all();
  return right == 5 ? 0 : 7;
}
