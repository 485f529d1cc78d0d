// SPDX-License-Identifier: Apache-2.0
// Locks of every kind, taken and given up in every order, while periods of sampling open and close all the
// time. What a thread holds when a period opens is known, and how: a lock that is held for reading is given up as
// such. And no lock that is taken unseen hands on what is recorded.
// options: rate=200000:period_us=50:horizon_us=0
// record: no (the rate is its own)
// repeat: 3
#include <pthread.h>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <thread>

constexpr std::uint32_t kRounds = 6'000;
constexpr std::uint32_t kMany = 20;  // more than a thread has a short list for

std::mutex plain;
std::recursive_mutex recursive;
std::shared_mutex shared;
std::mutex many[kMany];
std::mutex turn_mutex;
std::condition_variable turn_changed;
pthread_spinlock_t spin;

std::uint64_t by_plain = 0;
std::uint64_t by_recursive = 0;
std::uint64_t by_shared = 0;
std::uint64_t by_many[kMany] = {};
std::uint64_t by_turn = 0;
std::uint64_t by_spin = 0;
std::uint32_t turn = 0;

std::uint64_t work(std::uint32_t side) {
  std::uint64_t sum = 0;
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    {
      const std::lock_guard<std::mutex> hold(plain);
      ++by_plain;
    }
    recursive.lock();
    recursive.lock();
    ++by_recursive;
    recursive.unlock();
    ++by_recursive;
    recursive.unlock();
    if (round % 8 == side) {
      const std::lock_guard<std::shared_mutex> hold(shared);
      ++by_shared;
    } else {
      const std::shared_lock<std::shared_mutex> hold(shared);
      sum += by_shared;
    }
    // Hand over hand: each is given up when the next is held.
    many[0].lock();
    for (std::uint32_t at = 0; at < 4; ++at) {
      ++by_many[at];
      many[at + 1].lock();
      many[at].unlock();
    }
    many[4].unlock();
    if (round % 16 == 0) {
      for (std::mutex& one : many) one.lock();
      for (std::uint64_t& number : by_many) ++number;
      for (std::mutex& one : many) one.unlock();
    }
    if (plain.try_lock()) {
      ++by_plain;
      --by_plain;
      plain.unlock();
    }
    pthread_spin_lock(&spin);
    ++by_spin;
    pthread_spin_unlock(&spin);
    if (round % 32 == 0) {
      std::unique_lock<std::mutex> hold(turn_mutex);
      turn_changed.wait(hold, [&] { return turn == side; });
      ++by_turn;
      turn = 1 - side;
      turn_changed.notify_one();
    }
  }
  return sum;
}

int main() {
  pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
  std::thread other([] { work(1); });
  work(0);
  other.join();
  return by_plain == 2 * kRounds && by_recursive == 4 * kRounds && by_spin == 2 * kRounds ? 0 : 1;
}
