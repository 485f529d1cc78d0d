// SPDX-License-Identifier: Apache-2.0
// A queue with two producers and a consumer. What the first item stands for is read
// outside of the queue; only if that item is the first producer's is it ordered.
#include <condition_variable>
#include <deque>
#include <mutex>

#include "hidden.h"

class Queue {
 public:
  void push(int item) {
    {
      const std::lock_guard guard(mutex_);
      items_.push_back(item);
    }
    filled_.notify_one();
  }

  int pop() {
    std::unique_lock guard(mutex_);
    filled_.wait(guard, [this] { return !items_.empty(); });
    const int item = items_.front();
    items_.pop_front();
    return item;
  }

 private:
  std::mutex mutex_;
  std::condition_variable filled_;
  std::deque<int> items_;
};

Queue queue;
int source;

void quick_producer() {
  source = 1;  // race queue_producers
  late_if_reversed();
  queue.push(1);
}

void slow_producer() {
  usually_late(8);
  queue.push(2);
}

void consumer() {
  use(queue.pop());
  use(source);  // race queue_producers
  use(queue.pop());
}

int main() { run_together(quick_producer, slow_producer, consumer); }
