// SPDX-License-Identifier: Apache-2.0
// record: no (a race that headers of the library have among themselves is hidden in the report only)
// The order that the C++ library makes inside itself: the ends of threads, initialisation that fails, latches,
// barriers, semaphores, conditions with stop tokens, pointers that are changed atomically, pools.
#include <atomic>
#include <barrier>
#include <condition_variable>
#include <future>
#include <latch>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <vector>

#include "order.h"

namespace {

int seen;

void check(bool is_right) {
  if (!is_right) __builtin_trap();
  seen++;
}

struct LastWord {
  int* place;
  ~LastWord() { *place = 7; }
};
void say_at_end(int* place) {
  static thread_local LastWord word{place};
  use(reinterpret_cast<long>(&word));
}

void at_thread_exit() {
  int data = 0;
  int last = 0;
  std::promise<int> number;
  std::promise<void> nothing;
  std::promise<int> failure;
  std::packaged_task<int()> task([] { return 3; });
  auto numbers = number.get_future();
  auto done = nothing.get_future();
  auto failed = failure.get_future();
  auto result = task.get_future();
  std::thread thread([&] {
    say_at_end(&last);
    number.set_value_at_thread_exit(4);
    task.make_ready_at_thread_exit();
    try {
      throw std::runtime_error("for the other thread");
    } catch (...) {
      failure.set_exception_at_thread_exit(std::current_exception());
    }
    nothing.set_value_at_thread_exit();
    data = 1;
  });
  check(numbers.get() == 4 && data == 1 && last == 7);
  check(result.get() == 3);
  done.get();
  try {
    failed.get();
  } catch (const std::runtime_error& error) {
    check(error.what()[0] == 'f');
  }
  thread.join();

  std::mutex mutex;
  std::condition_variable condition;
  bool is_ready = false;
  std::thread notifier([&] {
    std::unique_lock<std::mutex> lock(mutex);
    say_at_end(&data);
    is_ready = true;
    std::notify_all_at_thread_exit(condition, std::move(lock));
  });
  {
    std::unique_lock<std::mutex> lock(mutex);
    condition.wait(lock, [&] { return is_ready; });
    check(data == 7);
  }
  notifier.join();
}

std::once_flag at_once_flag;
std::once_flag late_flag;
int at_once_value;
int tries;

void once() {
  std::vector<std::thread> threads;
  for (int index = 0; index < 3; index++) {
    threads.emplace_back([] {
      std::call_once(at_once_flag, [] { at_once_value = 3; });
      if (at_once_value != 3) __builtin_trap();
    });
    threads.emplace_back([] {
      try {
        std::call_once(late_flag, [] {
          if (++tries < 3) throw std::runtime_error("not yet");
        });
        if (tries != 3) __builtin_trap();
      } catch (const std::runtime_error&) {
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  check(tries == 3);
}

void futures() {
  int data = 0;
  auto async = std::async(std::launch::async, [&] { return data = 5; });
  check(async.get() == data);
  std::promise<std::vector<int>> promise;
  auto shared = promise.get_future().share();
  auto read = [shared] { return shared.get()[1]; };
  auto one = std::async(std::launch::async, read);
  auto other = std::async(std::launch::async, read);
  promise.set_value({1, 2, 3});
  check(one.get() + other.get() == 4);
  std::promise<int> broken;
  auto never = broken.get_future();
  std::thread breaker([&data, given = std::move(broken)]() mutable {
    data = 6;
    auto gone = std::move(given);
  });
  try {
    never.get();
  } catch (const std::future_error&) {
    check(data == 6);
  }
  breaker.join();
}

void meetings() {
  int numbers[3] = {};
  {
    std::latch latch(3);
    std::jthread one([&] {
      numbers[0] = 1;
      latch.arrive_and_wait();
    });
    std::jthread other([&] {
      numbers[1] = 1;
      latch.count_down();
    });
    latch.arrive_and_wait();
    check(numbers[0] + numbers[1] == 2);
  }
  int rounds = 0;
  auto completion = [&]() noexcept {
    if (numbers[0] + numbers[1] == 2) rounds++;
    numbers[0] = numbers[1] = 0;
  };
  {
    std::barrier barrier(2, completion);
    auto body = [&](int index) {
      for (int round = 0; round < 20; round++) {
        numbers[index] = 1;
        barrier.arrive_and_wait();
        if (rounds != round + 1) __builtin_trap();
        barrier.arrive_and_wait();
        if (index == 0) rounds = round + 1;
        barrier.arrive_and_wait();
      }
    };
    std::jthread one(body, 0);
    std::jthread other(body, 1);
  }
  std::barrier leaving(3);
  std::jthread goes([&] {
    numbers[0] = 1;
    leaving.arrive_and_drop();
  });
  std::jthread stays([&] {
    numbers[1] = 1;
    leaving.wait(leaving.arrive());
  });
  leaving.arrive_and_wait();
  check(numbers[0] + numbers[1] == 2);
}

void permits() {
  int data = 0;
  std::counting_semaphore<4> many(0);
  std::binary_semaphore two(0);
  std::jthread giver([&] {
    data = 1;
    many.release();
    two.acquire();
    data++;
    many.release(2);
  });
  many.acquire();
  data++;
  two.release();
  while (!many.try_acquire_for(std::chrono::milliseconds(5))) {
  }
  check(data == 3);
}

void words() {
  std::atomic<int> number{0};
  std::atomic_flag flag;
  int data = 0;
  std::jthread other([&] {
    data = 3;
    number.store(1);
    number.notify_all();
    flag.wait(false);
    data++;
    number = 2;
    number.notify_one();
  });
  number.wait(0);
  data++;
  flag.test_and_set();
  flag.notify_one();
  number.wait(1);
  check(data == 5);
}

struct Node {
  int number = 0;
  ~Node() { number = -1; }
};
std::shared_ptr<Node> published;

void pointers() {
  auto store = [](auto&& publish) {
    for (int index = 1; index <= 100; index++) {
      auto fresh = std::make_shared<Node>();
      fresh->number = index;
      publish(std::move(fresh));
    }
  };
  int sum = 0;
  {
    std::jthread writer([&] { store([](std::shared_ptr<Node> node) { std::atomic_store(&published, node); }); });
    for (int index = 0; index < 100; index++) {
      if (auto node = std::atomic_load(&published)) sum += node->number > 0;
      auto expected = std::atomic_load(&published);
      std::atomic_compare_exchange_strong(&published, &expected, std::make_shared<Node>());
    }
  }
#ifdef __cpp_lib_atomic_shared_ptr
  std::atomic<std::shared_ptr<Node>> atomic;
  std::jthread writer([&] { store([&](std::shared_ptr<Node> node) { atomic.store(std::move(node)); }); });
  for (int index = 0; index < 100; index++) {
    if (auto node = atomic.load()) sum += node->number > 0;
  }
#endif
  check(sum >= 0);
}

void pools() {
  std::pmr::synchronized_pool_resource pool;
  int turn = 0;
  std::jthread one([&] {
    auto* block = static_cast<int*>(pool.allocate(64));
    *block = 1;
    pool.deallocate(block, 64);
    order_reach_at(&turn, 1);
    order_await_at(&turn, 2);
  });
  std::jthread other([&] {
    order_await_at(&turn, 1);
    for (int index = 0; index < 20; index++) *static_cast<int*>(pool.allocate(64)) = index;
    order_reach_at(&turn, 2);
  });
  std::jthread third([&] {
    for (int index = 0; index < 50; index++) std::pmr::vector<int>(20, index, &pool).push_back(1);
  });
}

#if !defined(_LIBCPP_VERSION) || defined(_LIBCPP_ENABLE_EXPERIMENTAL)
void stops() {
  int data = 0;
  int result = 0;
  std::mutex mutex;
  std::condition_variable_any condition;
  {
    std::jthread waiter([&](std::stop_token token) {
      std::unique_lock lock(mutex);
      if (!condition.wait(lock, token, [] { return false; })) result = data;
    });
    data = 4;
    waiter.request_stop();
  }
  std::shared_mutex shared;
  {
    std::jthread waiter([&](std::stop_token token) {
      std::shared_lock lock(shared);
      condition.wait(lock, token, [&] { return data == 5; });
      result += data;
    });
    {
      const std::unique_lock lock(shared);
      data = 5;
    }
    condition.notify_all();
    waiter.join();
  }
  check(result == 9);
}
#else
void stops() {}
#endif

}  // namespace

int main() {
  at_thread_exit();
  once();
  futures();
  meetings();
  permits();
  words();
  pointers();
  pools();
  stops();
  return seen >= 13 ? 0 : 1;
}
