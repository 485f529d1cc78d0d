// SPDX-License-Identifier: Apache-2.0
// Messages by atomic operations of every kind, while periods of sampling open and close all the time. An
// operation that is let pass unseen must be over when a period opens, or what it orders looks like
// a race.
// options: rate=200000:period_us=50:horizon_us=0
// record: no (the rate is its own)
// repeat: 3
#include <atomic>
#include <cstdint>
#include <thread>

struct Message {
  std::uint64_t words[4];
};
Message stored;  // goes back and forth by a store
Message added;   // and by an addition
std::atomic<std::uint32_t> by_store{0};
std::atomic<std::uint64_t> by_addition{0};
std::atomic<bool> taken{false};
std::uint64_t guarded = 0;

constexpr std::uint32_t kRounds = 30'000;

// Waits for an odd or even number; now and then the other thread needs the processor.
template <class Number>
void wait_until(const std::atomic<Number>& number, Number wanted) {
  for (int tries = 1; number.load(std::memory_order_acquire) != wanted; ++tries) {
    if (tries % 64 == 0) std::this_thread::yield();
  }
}

void lock() {
  for (int tries = 1; taken.exchange(true, std::memory_order_acquire); ++tries) {
    if (tries % 64 == 0) std::this_thread::yield();
  }
}

std::uint64_t play(std::uint32_t side) {
  std::uint64_t sum = 0;
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    wait_until(by_store, 2 * round + side);
    for (std::uint64_t& word : stored.words) sum += word++;
    by_store.store(2 * round + side + 1, std::memory_order_release);

    lock();
    ++guarded;
    taken.store(false, std::memory_order_release);

    wait_until(by_addition, std::uint64_t{2 * round + side});
    for (std::uint64_t& word : added.words) sum += word++;
    by_addition.fetch_add(1, std::memory_order_acq_rel);
  }
  return sum;
}

int main() {
  std::thread other([] { play(1); });
  play(0);
  other.join();
  return stored.words[0] == 2 * kRounds && added.words[0] == 2 * kRounds && guarded == 2 * kRounds ? 0 : 1;
}
