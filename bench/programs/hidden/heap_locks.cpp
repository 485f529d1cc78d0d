// SPDX-License-Identifier: Apache-2.0
// Accounts on the heap, each with a mutex, all made at one place. The threads take many of
// them, and one in common: only its hand-over hides the race on the date.
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "hidden.h"

struct Account {
  std::mutex mutex;
  long amount = 0;
};

std::vector<std::unique_ptr<Account>> accounts;
int date;

// Those from `begin` to before `end`.
[[gnu::noinline]] void visit(std::size_t begin, std::size_t end) {
  for (std::size_t at = begin; at < end; ++at) {
    const std::lock_guard guard(accounts[at]->mutex);
    ++accounts[at]->amount;
  }
}

void open_day() {
  visit(0, 6);
  date = 1;  // race heap_locks
  late_if_reversed();
  visit(6, 7);
}

void close_day() {
  visit(7, 12);
  usually_late();
  visit(6, 7);
  date = 2;  // race heap_locks
}

int main() {
  for (int count = 0; count < 12; ++count) accounts.push_back(std::make_unique<Account>());
  run_together(open_day, close_day);
}
