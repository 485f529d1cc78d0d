// SPDX-License-Identifier: Apache-2.0
// A queue of one producer and one consumer, without locks and without a race: release stores and acquire
// loads are plain instructions, which no log of calls can have.
#include <atomic>
#include <cstdlib>
#include <thread>

namespace {

constexpr unsigned kSize = 256;
long items[kSize];
std::atomic<unsigned> head{0};
std::atomic<unsigned> tail{0};

}  // namespace

int main(int count, char** words) {
  const unsigned rounds = count > 1 ? static_cast<unsigned>(std::atoi(words[1])) : 1'000'000;
  long sum = 0;
  std::thread consumer([&] {
    for (unsigned at = 0; at < rounds; ++at) {
      while (head.load(std::memory_order_acquire) == at) std::this_thread::yield();
      sum += items[at % kSize]++;
      tail.store(at + 1, std::memory_order_release);
    }
  });
  for (unsigned at = 0; at < rounds; ++at) {
    while (at - tail.load(std::memory_order_acquire) == kSize) std::this_thread::yield();
    items[at % kSize] = static_cast<long>(at);
    head.store(at + 1, std::memory_order_release);
  }
  consumer.join();
  return sum == 0 ? 1 : 0;
}
