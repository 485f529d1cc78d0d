// SPDX-License-Identifier: Apache-2.0
// Two threads write `balance` without a lock. The mutex of a counter, which the second
// takes after the first, orders the writes by accident.
#include <mutex>

#include "hidden.h"

std::mutex mutex;
int counted;
int balance;

void deposit() {
  balance = 100;  // race write_write
  late_if_reversed();
  const std::lock_guard guard(mutex);
  ++counted;
}

void charge() {
  usually_late();
  {
    const std::lock_guard guard(mutex);
    ++counted;
  }
  balance = 99;  // race write_write
}

int main() { run_together(deposit, charge); }
