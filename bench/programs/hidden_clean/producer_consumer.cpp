// SPDX-License-Identifier: Apache-2.0
// A bounded queue between two threads, and a log that both write to under another lock.
// Items are printed in the order in which they were made.
#include <condition_variable>
#include <cstddef>
#include <cstdio>
#include <deque>
#include <mutex>

#include "../hidden/hidden.h"

class BoundedQueue {
 public:
  void push(int item) {
    std::unique_lock guard(mutex_);
    room_.wait(guard, [this] { return items_.size() < kLimit; });
    items_.push_back(item);
    filled_.notify_one();
  }

  int pop() {
    std::unique_lock guard(mutex_);
    filled_.wait(guard, [this] { return !items_.empty(); });
    const int item = items_.front();
    items_.pop_front();
    room_.notify_one();
    return item;
  }

 private:
  static constexpr std::size_t kLimit = 3;
  std::mutex mutex_;
  std::condition_variable room_;
  std::condition_variable filled_;
  std::deque<int> items_;
};

BoundedQueue queue;
std::mutex log_mutex;
int logged;

void log_one() {
  const std::lock_guard guard(log_mutex);
  ++logged;
}

void produce() {
  for (int item = 0; item < 20; ++item) {
    log_one();
    queue.push(item);
  }
}

void consume() {
  spend(3);
  for (int times = 0; times < 20; ++times) {
    std::printf("item %d\n", queue.pop());
    log_one();
  }
}

int main() {
  run_together(produce, consume);
  std::printf("logged %d\n", logged);
}
