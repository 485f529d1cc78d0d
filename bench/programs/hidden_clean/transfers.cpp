// SPDX-License-Identifier: Apache-2.0
// Accounts on the heap, each with a mutex, and transfers between them that take two at
// once in a fixed order, or by std::scoped_lock. No order of the threads deadlocks, and no
// money is lost.
#include <cstddef>
#include <cstdio>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "../hidden/hidden.h"

struct Account {
  std::mutex mutex;
  long amount = 100;
};

std::vector<std::unique_ptr<Account>> accounts;

void transfer_in_order(std::size_t from, std::size_t to) {
  const std::lock_guard low(accounts[from < to ? from : to]->mutex);
  const std::lock_guard high(accounts[from < to ? to : from]->mutex);
  --accounts[from]->amount;
  ++accounts[to]->amount;
}

void transfer_at_once(std::size_t from, std::size_t to) {
  const std::scoped_lock both(accounts[from]->mutex, accounts[to]->mutex);
  --accounts[from]->amount;
  ++accounts[to]->amount;
}

void first_teller() {
  for (std::size_t at = 0; at < 10; ++at) transfer_in_order(at % 6, (at + 1) % 6);
}

void second_teller() {
  spend(2);
  for (std::size_t at = 0; at < 10; ++at) transfer_in_order((at + 3) % 6, at % 6);
}

void third_teller() {
  for (std::size_t at = 0; at < 10; ++at) transfer_at_once((at + 1) % 6, at % 6);
}

int main() {
  for (int count = 0; count < 6; ++count) accounts.push_back(std::make_unique<Account>());
  run_together(first_teller, second_teller, third_teller);
  for (const auto& account : accounts) std::printf("%ld ", account->amount);
  std::printf("\n");
}
