// SPDX-License-Identifier: Apache-2.0
// As the hidden one, with the total under the lock of the log. The lines are counted by
// worker, so that their order does not show.
#include <cstdio>
#include <mutex>

#include "../hidden/hidden.h"

class Log {
 public:
  void write(int worker, long amount) {
    const std::lock_guard guard(mutex_);
    ++lines_[worker];
    total_ += amount;
  }
  void print() {
    const std::lock_guard guard(mutex_);
    std::printf("lines %d and %d, total %ld\n", lines_[0], lines_[1], total_);
  }

 private:
  std::mutex mutex_;
  int lines_[2] = {};
  long total_ = 0;
};

Log logger;

void import() {
  for (int step = 0; step < 20; ++step) logger.write(0, 10);
}

void evaluate() {
  usually_late();
  for (int step = 0; step < 20; ++step) logger.write(1, 1);
}

int main() {
  run_together(import, evaluate);
  logger.print();
}
