// SPDX-License-Identifier: Apache-2.0
// Two workers that have nothing in common but a log, and a total that they forgot to
// protect. Every line of the log is written under one mutex and orders all that was done
// before it.
#include <cstring>
#include <mutex>

#include "hidden.h"

class Log {
 public:
  void write(const char* text) {
    const std::lock_guard guard(mutex_);
    std::strncpy(last_, text, sizeof last_ - 1);
    ++lines_;
  }

 private:
  std::mutex mutex_;
  char last_[32] = {};
  int lines_ = 0;
};

Log logger;
long total;

void import() {
  logger.write("import begins");
  total = 10;  // race logging_lock
  late_if_reversed();
  logger.write("import ends");
}

void evaluate() {
  usually_late();
  late_if_reversed(2);  // the other has had the lock once
  logger.write("evaluation begins");
  use(total);  // race logging_lock
  logger.write("evaluation ends");
}

int main() { run_together(import, evaluate); }
