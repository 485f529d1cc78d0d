// SPDX-License-Identifier: Apache-2.0
// Programs without a race, each ordered by another means, for recording: record_ordered WAY ROUNDS.
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#include <array>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Item {
  std::array<long, 64> values{};
};

long work_on(Item& item, long seed) {
  for (long& value : item.values) value += seed++;
  return item.values[static_cast<std::size_t>(seed) % 64];
}

Item shared_item;
int rounds = 0;

void with_mutex() {
  static std::mutex mutex;
  const auto run = [] {
    for (int at = 0; at < rounds; ++at) {
      const std::lock_guard<std::mutex> hold(mutex);
      work_on(shared_item, at);
    }
  };
  std::thread one(run);
  std::thread two(run);
  one.join();
  two.join();
}

// Two threads that share nothing but the allocator: what one frees, alone, as a part of something larger or in parts,
// the other is given, and gives back. A block also comes back to its thread at once.
void with_heap() {
  mallopt(M_ARENA_MAX, 1);
  const auto run = [](unsigned seed) {
    std::array<long*, 16> blocks{};
    for (int at = 0; at < rounds; ++at) {
      seed = seed * 1664525 + 1013904223;
      long*& block = blocks[(seed >> 8U) % blocks.size()];
      std::free(block);
      // Above what the C library keeps for each thread by itself.
      const std::size_t count = 140 + (seed >> 16U) % 8 * 40;
      block = static_cast<long*>(std::malloc(count * sizeof(long)));
      if (block == nullptr) std::abort();
      for (std::size_t place = 0; place < count; ++place) block[place] = at;
    }
    for (long* block : blocks) std::free(block);
  };
  std::thread one(run, 1);
  std::thread two(run, 2);
  one.join();
  two.join();
}

// Blocks go from one thread to the other, and are freed and allocated all the time.
void with_queue() {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Item*> queue;
  std::thread taker([&] {
    for (;;) {
      std::unique_lock<std::mutex> hold(mutex);
      changed.wait(hold, [&] { return !queue.empty(); });
      Item* const item = queue.front();
      queue.pop_front();
      hold.unlock();
      if (item == nullptr) return;
      work_on(*item, 3);
      delete item;
    }
  });
  for (int at = 0; at <= rounds; ++at) {
    Item* const item = at < rounds ? new Item : nullptr;
    if (item != nullptr) work_on(*item, at);
    const std::lock_guard<std::mutex> hold(mutex);
    queue.push_back(item);
    changed.notify_one();
  }
  taker.join();
}

void with_barrier() {
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, nullptr, 2);
  Item items[2];
  const auto run = [&](int self) {
    for (int at = 0; at < rounds; ++at) {
      work_on(items[(self + at) % 2], at);
      pthread_barrier_wait(&barrier);
    }
  };
  std::thread one(run, 0);
  std::thread two(run, 1);
  one.join();
  two.join();
}

void with_semaphore() {
  sem_t ping;
  sem_t pong;
  sem_init(&ping, 0, 0);
  sem_init(&pong, 0, 0);
  std::thread other([&] {
    for (int at = 0; at < rounds; ++at) {
      sem_wait(&ping);
      work_on(shared_item, at);
      sem_post(&pong);
    }
  });
  for (int at = 0; at < rounds; ++at) {
    work_on(shared_item, at);
    sem_post(&ping);
    sem_wait(&pong);
  }
  other.join();
}

void with_pipe() {
  int ends[2];
  int back[2];
  if (pipe(ends) != 0 || pipe(back) != 0) std::abort();
  std::thread other([&] {
    char byte = 0;
    while (read(ends[0], &byte, 1) == 1) {
      work_on(shared_item, byte);
      if (write(back[1], &byte, 1) != 1) return;
    }
  });
  char byte = 1;
  for (int at = 0; at < rounds; ++at) {
    work_on(shared_item, at);
    if (write(ends[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1) break;
  }
  close(ends[1]);
  other.join();
}

void with_readers() {
  std::shared_mutex mutex;
  const auto run = [&](int self) {
    long sum = 0;
    for (int at = 0; at < rounds; ++at) {
      if (at % 16 == self) {
        const std::unique_lock<std::shared_mutex> hold(mutex);
        work_on(shared_item, at);
      } else {
        const std::shared_lock<std::shared_mutex> hold(mutex);
        for (const long value : shared_item.values) sum += value;
      }
    }
    return sum;
  };
  std::thread one([&] { run(0); });
  std::thread two([&] { run(1); });
  one.join();
  two.join();
}

// Many short threads: stacks, numbers and pthread_t are used again.
void with_threads() {
  for (int at = 0; at < rounds / 50; ++at) {
    std::thread one([&] { work_on(shared_item, at); });
    one.join();
    std::vector<std::thread> many;
    for (int number = 0; number < 3; ++number) {
      many.emplace_back([&] {
        Item own;
        work_on(own, at);
      });
    }
    for (std::thread& thread : many) thread.join();
    work_on(shared_item, at);
  }
}

Item& the_item(int at) {
  static Item* const first = [] {
    auto* const item = new Item;
    for (int round = 0; round < 2000; ++round) work_on(*item, round);
    return item;
  }();
  static_cast<void>(at);
  return *first;
}

// A static local variable: whoever comes second looks at its guard by a plain load.
void with_static() {
  const auto run = [] {
    long sum = 0;
    for (int at = 0; at < rounds; ++at) {
      for (const long value : the_item(at).values) sum += value;
    }
    return sum;
  };
  std::thread one([&] { run(); });
  std::thread two([&] { run(); });
  one.join();
  two.join();
}

}  // namespace

int main(int count, char** words) {
  if (count < 3) return 2;
  const std::string way = words[1];
  rounds = std::atoi(words[2]);
  if (way == "mutex") with_mutex();
  if (way == "heap") with_heap();
  if (way == "queue") with_queue();
  if (way == "barrier") with_barrier();
  if (way == "semaphore") with_semaphore();
  if (way == "pipe") with_pipe();
  if (way == "readers") with_readers();
  if (way == "threads") with_threads();
  if (way == "static") with_static();
  return 0;
}
