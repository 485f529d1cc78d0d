// SPDX-License-Identifier: Apache-2.0
// A race that ordinary runs hide: the lock of the log orders the two deposits, as long
// as deposit() is the first to log. Find it with:
//   deadheat c++ -g -O1 hidden.cpp -o hidden && deadheat hunt ./hidden
#include <mutex>
#include <thread>

std::mutex log_mutex;
int lines = 0;
int balance = 0;

void log_line() {
  const std::lock_guard<std::mutex> hold(log_mutex);
  ++lines;
}

void deposit() {
  balance += 100;  // forgot the lock
  log_line();
}

void audit() {
  for (int day = 0; day < 20'000'000; ++day) asm volatile("");  // a long way
  log_line();
  balance += 1;  // forgot it, too
}

int main() {
  std::thread first(deposit);
  std::thread second(audit);
  first.join();
  second.join();
}
