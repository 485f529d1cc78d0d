// SPDX-License-Identifier: Apache-2.0
// The order that Abseil makes: mutexes with conditions, notifications, counters, barriers.
// levels: -O2 (what the library does is the same)
// package: absl_synchronization
#include <absl/base/call_once.h>
#include <absl/synchronization/barrier.h>
#include <absl/synchronization/blocking_counter.h>
#include <absl/synchronization/mutex.h>
#include <absl/synchronization/notification.h>

#include <thread>
#include <vector>

namespace {

absl::Mutex mutex;
absl::CondVar condition;
absl::once_flag once;
int by_mutex;
int initialised;
bool is_ready;
int value;

bool is_positive(int* number) { return *number > 0; }

void lock_all() {
  for (int round = 0; round < 200; round++) {
    {
      const absl::MutexLock lock(&mutex);
      by_mutex++;
    }
    if (mutex.TryLock()) {
      by_mutex++;
      mutex.Unlock();
    }
    {
      const absl::ReaderMutexLock lock(&mutex);
      if (by_mutex < 1) __builtin_trap();
    }
    mutex.LockWhen(absl::Condition(is_positive, &by_mutex));
    by_mutex++;
    mutex.Await(absl::Condition(is_positive, &by_mutex));
    mutex.Unlock();
  }
  absl::call_once(once, [] { initialised = 1; });
  if (initialised != 1) __builtin_trap();
}

void wait_for_value() {
  mutex.Lock();
  while (!is_ready) condition.Wait(&mutex);
  value++;
  mutex.Unlock();
}

}  // namespace

int main() {
  std::vector<std::thread> threads;
  for (int index = 0; index < 3; index++) threads.emplace_back(lock_all);
  for (std::thread& thread : threads) thread.join();

  std::thread waiter(wait_for_value);
  mutex.Lock();
  is_ready = true;
  value = 1;
  condition.SignalAll();
  mutex.Unlock();
  waiter.join();

  absl::Notification one;
  absl::Notification other;
  int notified = 0;
  std::thread notifier([&] {
    notified = 1;
    one.Notify();
    other.WaitForNotification();
    notified++;
  });
  while (!one.HasBeenNotified()) {
  }
  notified++;
  other.Notify();
  notifier.join();

  absl::BlockingCounter counter(2);
  int parts[2] = {};
  std::thread first([&] {
    parts[0] = 1;
    counter.DecrementCount();
  });
  std::thread second([&] {
    parts[1] = 2;
    counter.DecrementCount();
  });
  counter.Wait();
  const int sum = parts[0] + parts[1];
  first.join();
  second.join();

  auto* const barrier = new absl::Barrier(2);
  std::thread partner([&] {
    parts[0] = 5;
    if (barrier->Block()) delete barrier;
  });
  if (barrier->Block()) delete barrier;
  parts[0]++;
  partner.join();
  return value == 2 && notified == 3 && sum == 3 && parts[0] == 6 ? 0 : 1;
}
