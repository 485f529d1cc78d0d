// SPDX-License-Identifier: Apache-2.0
// The bank, with the lock in the statement, too.
//   deadheat c++ -g -O1 -pthread fixed.cpp -o fixed && deadheat run ./fixed
#include <cstdio>
#include <mutex>
#include <thread>

class Account {
 public:
  void deposit(long amount) {
    const std::lock_guard<std::mutex> hold(mutex_);
    balance_ += amount;
  }

  long balance() const {
    const std::lock_guard<std::mutex> hold(mutex_);
    return balance_;
  }

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
