// SPDX-License-Identifier: Apache-2.0
// A bank whose deposits hold the lock, and whose statement forgot it.
//   deadheat c++ -g -O1 -pthread bank.cpp -o bank && deadheat run ./bank
#include <cstdio>
#include <mutex>
#include <thread>

class Account {
 public:
  void deposit(long amount) {
    const std::lock_guard<std::mutex> hold(mutex_);
    balance_ += amount;
  }

  long balance() const { return balance_; }  // forgot the lock

 private:
  mutable std::mutex mutex_;
  long balance_ = 0;
};

int main() {
  Account account;
  std::thread salary([&account] {
    for (int month = 0; month < 12; ++month) account.deposit(1000);
  });
  std::printf("so far: %ld\n", account.balance());
  salary.join();
  std::printf("at the end: %ld\n", account.balance());
}
