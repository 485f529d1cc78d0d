// SPDX-License-Identifier: Apache-2.0
// With oneTBB: tasks that know nothing of each other.
// levels: -O2 (what the library does is the same)
// package: tbb
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_group.h>

#include "order.h"

int shared;

int main() {
  const tbb::global_control threads(tbb::global_control::max_allowed_parallelism, 4);
  tbb::task_group group;
  group.run([] {
    shared = 1;  // race
    order_reach(1);
  });
  order_await(1);
  shared = 2;  // race
  group.wait();
  return 0;
}
