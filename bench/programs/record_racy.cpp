// SPDX-License-Identifier: Apache-2.0
// record_racy [ROUNDS [ROUNDS PER LOCK]]: two histograms, one with a lock and one without: a race that samples
// alone rarely see.
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

namespace {

long locked[64];
long bare[64];
std::mutex mutex;

void work(unsigned seed, int rounds, int per_lock) {
  unsigned random = seed;
  for (int at = 0; at < rounds; ++at) {
    random = random * 1664525U + 1013904223U;
    ++bare[(random >> 20U) & 63U];
    if (at % per_lock != 0) continue;
    const std::lock_guard<std::mutex> hold(mutex);
    ++locked[(random >> 20U) & 63U];
  }
}

}  // namespace

int main(int count, char** words) {
  const int rounds = count > 1 ? std::atoi(words[1]) : 20'000'000;
  const int per_lock = count > 2 ? std::atoi(words[2]) : 256;
  std::thread one(work, 1, rounds, per_lock);
  std::thread two(work, 2, rounds, per_lock);
  one.join();
  two.join();
  std::printf("%ld %ld\n", locked[0], bare[0]);
  return 0;
}
