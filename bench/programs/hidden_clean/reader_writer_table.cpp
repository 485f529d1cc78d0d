// SPDX-License-Identifier: Apache-2.0
// A table behind std::shared_mutex that one thread fills while two others read it until it
// is full; recursive and upgraded access goes through another lock.
#include <sched.h>
#include <cstdio>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "../hidden/hidden.h"

std::shared_mutex mutex;
std::vector<int> table;
std::recursive_mutex result_mutex;
long sums[2];

void fill() {
  for (int number = 1; number <= 20; ++number) {
    const std::unique_lock guard(mutex);
    table.push_back(number);
  }
}

// Of the whole table; nothing while it is not full.
long sum_of_table() {
  const std::shared_lock guard(mutex);
  if (table.size() < 20) return 0;
  long sum = 0;
  for (const int number : table) sum += number;
  return sum;
}

void store(int self, long sum) {
  const std::lock_guard guard(result_mutex);
  if (sums[self] == 0 && sum != 0) store(self, 0);  // takes it once more
  sums[self] += sum;
}

void read(int self) {
  long sum = 0;
  while ((sum = sum_of_table()) == 0) sched_yield();
  store(self, sum);
}

int main() {
  run_together(fill, [] { read(0); }, [] { read(1); });
  std::printf("sums %ld and %ld\n", sums[0], sums[1]);
}
