// SPDX-License-Identifier: Apache-2.0
// The balance has a lock of its own, so that no order of the lines in the log matters:
//   deadheat c++ -g -O1 -pthread fixed.cpp -o fixed && deadheat hunt ./fixed
#include <mutex>
#include <thread>

std::mutex log_mutex;
int lines = 0;
std::mutex balance_mutex;
int balance = 0;

void log_line() {
  const std::lock_guard<std::mutex> hold(log_mutex);
  ++lines;
}

void add(int amount) {
  const std::lock_guard<std::mutex> hold(balance_mutex);
  balance += amount;
}

void deposit() {
  add(100);
  log_line();
}

void audit() {
  for (int day = 0; day < 20'000'000; ++day) asm volatile("");  // a long way
  log_line();
  add(1);
}

int main() {
  std::thread first(deposit);
  std::thread second(audit);
  first.join();
  second.join();
}
